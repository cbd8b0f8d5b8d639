"""The judged collections of README's table: fetched where that is possible, else their sources.

    python -m benchmarks.judged_sources [FOLDER]

Writes those that ir_datasets has, or a file of questions and paragraphs, to FOLDER in BEIR's layout
(default: var/judged), and prints for each other one where it is, in which form, and its licence.
"""

from __future__ import annotations

import json
import os
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import irds

ROOT = Path(__file__).resolve().parents[1]
XQUAD = "https://raw.githubusercontent.com/google-deepmind/xquad/7d30520c717524000f0d9d2f9c10a069acd9d285"
GLASGOW = "none is stated; Glasgow's IR group and SMART distribute it for research"


@dataclass(frozen=True, slots=True)
class JudgedSource:
    """Where a collection comes from: a name in ir_datasets, a file of SQuAD's form, or `place`.

    `form` says what its rows become in BEIR's layout.
    """

    licence: str
    place: str = ""
    form: str = ""
    irds: str = ""
    squad: str = ""


def _xquad(language: str) -> JudgedSource:
    return JudgedSource("CC BY-SA 4.0", squad=f"{XQUAD}/xquad.{language}.json")


SOURCES: Mapping[str, JudgedSource] = {
    "checkthat2020_claims": JudgedSource(
        "free for general research use",
        "github.com/sshaar/clef2020-factchecking-task2, data/v3.zip, at e993f1fe34",
        "claims are documents (title, claim), tweets of train and dev are queries",
    ),
    "covidqa_long": JudgedSource(
        "Apache-2.0; each paper has its own",
        "github.com/deepset-ai/COVID-QA, question-answering/200423_covidQA.json, at fb2eb5e249",
        "a document a paper; questions of the same text are one query",
    ),
    "cranfield": JudgedSource(GLASGOW, irds="cranfield"),
    "dbpedia_entity_50": JudgedSource(
        "CC BY-SA 3.0 of DBpedia-Entity v2; the repository states none",
        "github.com/agentset-ai/embedding-leaderboard, datasets/dbpedia, at 7a1376ca20",
        "in BEIR's layout; a sample of beir/dbpedia-entity, 5,000 entities",
    ),
    "med": JudgedSource(
        GLASGOW, "ir.dcs.gla.ac.uk/resources/test_collections/medl", "SMART's files; no titles"
    ),
    "mtrag_cloud": JudgedSource(
        "Apache-2.0",
        "github.com/IBM/mt-rag-benchmark, mtrag-human/retrieval_tasks/cloud, at cc5b1d481b",
        "the rewritten last turns are the queries; ours searched a pool of 11,727 passages",
    ),
    "nfcorpus": JudgedSource("free for academic use", irds="beir/nfcorpus/test"),
    "scifact": JudgedSource("CC BY-NC 2.0", irds="beir/scifact/test"),
    "squad20_dev": JudgedSource(
        "CC BY-SA 4.0", squad="https://rajpurkar.github.io/SQuAD-explorer/dataset/dev-v2.0.json"
    ),
    "wikiqa_test": JudgedSource(
        "Microsoft's data licence, research only",
        "Microsoft Research's WikiQACorpus, WikiQA-test.tsv",
        "a document a sentence (title: the article's); questions with a right sentence",
    ),
    **{f"xquad_{each}": _xquad(each) for each in ("de", "en", "es", "ru", "zh")},
}


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kbsite.settings")
    import django

    django.setup()
    for name, folder in folders(Path(sys.argv[1]) if len(sys.argv) > 1 else None).items():
        print(f"{name}: {folder}")


def folders(target: Path | None = None) -> dict[str, Path]:
    """The folder of each collection that is there, in RELEVANCE_DIR, or that could be fetched.

    Prints a line for each that is missing.
    """
    from benchmarks.judged.loading import relevance_folder

    present = {}
    for name, source in SOURCES.items():
        own, fetched = relevance_folder() / name, (target or ROOT / "var" / "judged") / name
        try:
            present[name] = own if own.is_dir() else _fetched(source, fetched)
        except (OSError, ValueError, LookupError, SystemExit) as error:
            print(f"{name} is missing: {error} Licence: {source.licence}.", file=sys.stderr)
    return present


def _fetched(source: JudgedSource, folder: Path) -> Path:
    """The folder with the collection in it. Raises LookupError if nobody offers it as a file."""
    if (folder / "qrels.tsv").exists():
        return folder
    if source.irds:
        written = irds.write(source.irds, folder.parent)
        return written.rename(folder)
    if not source.squad:
        where = f"Put it into {folder.name}/ of RELEVANCE_DIR, in BEIR's layout. It is at"
        raise LookupError(f"{where} {source.place}: {source.form}.")
    with urllib.request.urlopen(source.squad, timeout=60) as answer:
        # XQuAD has English titles in every language.
        write_squad(json.load(answer), folder, titles=folder.name in ("squad20_dev", "xquad_en"))
    return folder


def write_squad(data: Mapping[str, Any], folder: Path, *, titles: bool) -> None:
    """Write a file of SQuAD's form: the paragraph of a question answers it (Ahmad et al. 2019).

    Questions without an answer go to unanswerable.jsonl. Without `titles` none is written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    corpus: dict[str, dict[str, str]] = {}
    queries, without, qrels = [], [], []
    for title, paragraph in _paragraphs(data):
        text = paragraph["context"]
        row = {"_id": f"p{len(corpus)}", "title": title if titles else "", "text": text}
        row = corpus.setdefault(text, row)
        for question in paragraph["qas"]:
            asked = {"_id": question["id"], "text": question["question"].strip()}
            if question.get("is_impossible"):
                without.append(asked)
            else:
                queries.append(asked)
                qrels.append(f"{question['id']}\t{row['_id']}\t1\n")
    for name, rows in (("corpus", [*corpus.values()]), ("queries", queries)):
        irds.write_rows(folder / f"{name}.jsonl", rows)
    if without:
        irds.write_rows(folder / "unanswerable.jsonl", without)
    (folder / "qrels.tsv").write_text("".join(qrels), encoding="utf-8")


def _paragraphs(data: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for article in data["data"]:
        for paragraph in article["paragraphs"]:
            yield article["title"].replace("_", " "), paragraph


if __name__ == "__main__":
    main()
