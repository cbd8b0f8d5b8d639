"""What each feature costs to keep: code, tests, settings, tables and pages.

`make costs` writes the table in docs/costs.md; a test compares it, so that whoever decides what to
drop sees prices. A file belongs to the feature with the longest path that it begins with.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import tokenize
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("common", "kbsite", "ingestion", "search")
TABLE = ROOT / "docs" / "costs.md"
BEGIN, END = "<!-- costs -->", "<!-- end of costs -->"
LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


@dataclass(frozen=True)
class Feature:
    """A feature by where it lies: beginnings of paths, and of the names of settings.

    `tests` are parts of the names of test files, without their directory.
    """

    name: str
    code: str
    tests: str = ""
    settings: str = ""
    pages: str = ""


FEATURES = (
    Feature(
        "Search: a question to its results",
        "search/",
        "query ranking fusions grouping snippets excerpts sections short_questions "
        "classifiers confidence feedback languages hyphens pruning name_parts bm25 page_search "
        "grouped_results original_modes filtered_vectors metadata_query metadata_search scopes "
        "expression_rows ngrams api_search api_parameters examples page_frame search_browser "
        "visibility leaks floors results_browser similar_browser",
        "SEARCH_QUERY CONFIDENCE QUERY_ VECTOR_INDEX RETRIEVAL DATABASE_PREPARED",
        "search/",
    ),
    Feature(
        "Presets of the seed systems",
        "search/presets/",
        "presets golden_presets preset_laws seed_cases",
    ),
    Feature("Spelling", "search/query/spelling search/retrieval/spelling search/engine/spelling",
            "spelling did_you_mean"),
    Feature("Suggestions while typing", "search/readers/suggestions search/pages/suggestions",
            "suggestion"),
    Feature("Pins, hides, synonyms, rules", "search/curation search/models/curated "
            "search/models/rules search/tuning/admin/curation search/tuning/api/curated "
            "search/query/synonyms search/query/query_key",
            "curated hides synonyms query_key", pages="admin/search/curated"),
    Feature(
        "Tuning: profiles, workbench, golden queries, gate",
        "search/tuning/",
        "profiles publish gate workbench judging judgement pools preview optimis whatif "
        "measures tuning evaluate judged golden",
        "NIGHTLY",
        "admin/tuning/ admin/search/searchprofile",
    ),
    Feature(
        "Answers",
        "search/answers/ search/api/answer search/api/threads search/pages/answer "
        "search/pages/threads",
        "answer budgets threads suggested follow_up figures checking context making claims quotes",
        "ANSWER",
        "search/answers/ admin/answers/",
    ),
    Feature("OpenAI-compatible API", "search/api/openai", "openai"),
    Feature("Agents (MCP)", "search/mcp/", "mcp", "MCP"),
    Feature(
        "Search analytics and gaps",
        "search/analytics/",
        "analytics gaps gap_groups search_events",
        "SEARCH_EVENTS",
        "admin/analytics/",
    ),
    Feature("A reader's history, favourites, saved searches",
            "search/readers/ search/pages/me search/pages/saved_searches search/pages/own_tokens",
            "readers", "HISTORY EMAIL", "search/me/"),
    Feature("Concepts (part)", "search/parts/concepts", "concepts keyphrases", "CONCEPTS"),
    Feature("WordNet (part)", "search/parts/wordnet", "wordnet", "WORDNET"),
    Feature("Rerankers (part)", "search/parts/reranker search/engine/reranker "
            "search/ranking/rerank", "reranker reranking", "RERANKER"),
    Feature("Qdrant (part)", "search/parts/qdrant", "qdrant", "QDRANT"),
    Feature("Experiments (part)", "search/parts/experiments", "experiments interleaving"),
    Feature("Other parts", "search/parts/ common/parts",
            "without_parts optional_parts optional_signals", "SEARCH_PARTS"),
    Feature("Library: documents, versions, lists", "ingestion/",
            "documents versions bin bulk collections metadata list_costs library api_documents "
            "archive_members upload page_document originals",
            "FILES_DIR ORIGINALS MAX_UPLOAD VERSIONS DELETION DEFAULT_LANGUAGE INGESTION",
            "admin/ingestion/"),
    Feature("Parsing", "ingestion/parsing/ ingestion/files/filetypes",
            "parsing formats pdf docx markdown mail tables completeness filetypes blocks images "
            "ocr notebooks slides sheets rst hostile limits encodings outlook parts pictures",
            "PARSE_ OCR TESSDATA"),
    Feature("Pictures of pages", "ingestion/parsing/page_pictures "
            "ingestion/parsing/passage_rectangles ingestion/documents/picture_cache "
            "search/presentation/rectangles",
            "page_pictures slide_pictures rectangles", "PAGE_PICTURES"),
    Feature("Chunking", "ingestion/chunking/", "chunking"),
    Feature("Words and identifiers", "ingestion/lexical/ ingestion/identifiers/ "
            "ingestion/models/patterns ingestion/admin/patterns",
            "identifier expressions sentences near_duplicates"),
    Feature("Embedding models", "ingestion/embedding/ ingestion/spaces/ ingestion/admin/space "
            "ingestion/models/embeddings", "embedding space fastembed minilm",
            "EMBED OPENAI LOCAL_MODEL MODELS_DIR INDEX_BUILD QUERY_EMBEDDING",
            "admin/ingestion/embeddingspace"),
    Feature("Hand edits", "ingestion/documents/hand_edit", "hand_edit"),
    Feature("Currency and review", "ingestion/currency ingestion/documents/currency "
            "ingestion/documents/editions ingestion/admin/review search/readers/reviews "
            "search/pages/reviews_feed",
            "currency review"),
    Feature("Readers of one document", "ingestion/documents/restricted_readers",
            "document_readers"),
    Feature("Imports", "ingestion/intake/import ingestion/intake/manifests ingestion/admin/import "
            "ingestion/api/import ingestion/management/commands/import",
            "imports import_commands manifests", "IMPORT_"),
    Feature("Web pages", "ingestion/intake/import_web ingestion/intake/site "
            "ingestion/intake/url", "import_url fetch url guard site",
            "URL_IMPORT"),
    Feature("Watched folders", "ingestion/intake/watched ingestion/intake/folder "
            "ingestion/admin/watched", "watched", "WATCH_"),
    Feature("Sync API", "ingestion/intake/mirroring ingestion/api/sync ingestion/models/mirrors",
            "sync_api"),
    Feature("Webhooks", "ingestion/webhooks/", "webhooks", "WEBHOOK", "admin/webhooks/"),
    Feature("Exports", "ingestion/exporting search/export search/read_only "
            "search/management/commands/export search/management/commands/serve",
            "export", "READ_ONLY"),
    Feature("People, tokens, quotas, audit", "common/accounts/ common/audit/ "
            "common/admin/people common/admin/audit common/admin/credentials",
            "people token audit who_sees quota", "QUOTA AUDIT API_TOKEN THROTTLE",
            "admin/audit/ admin/who_sees/"),
    Feature("Sign-on, second factor, OAuth", "kbsite/sign_in kbsite/oauth common/accounts/claim "
            "common/accounts/encryption common/accounts/second common/accounts/guard "
            "common/accounts/app_grants", "sign_on sign_in oauth connections",
            "OIDC SSO OAUTH STAFF SIGN_IN", "mfa/ socialaccount/ account/ allauth/ registration/"),
    Feature("Bases of API and admin", "common/", "api_schema api_errors api_fuzz idempotency "
            "legacy_fields circuit jobs", pages="admin/steelyard/"),
    Feature("Monitoring", "kbsite/operations/ common/metrics common/log common/probes "
            "kbsite/management/commands/doctor",
            "metrics logs deploy_checks alert doctor", "METRICS LOG_"),
    Feature("Backups", "kbsite/operations/backups kbsite/operations/dumps "
            "kbsite/management/commands/backup kbsite/management/commands/restore",
            "backups point_in_time restore", "BACKUP"),
    Feature("Web server", "kbsite/serving/ kbsite/gunicorn kbsite/asgi",
            "admission asgi slow_clients outages hanging", "HOST PORT ACCESS WEB_"),
    Feature("Embedded servers and the demo", "kbsite/embedded/ kbsite/demo/ "
            "kbsite/management/commands/demo kbsite/management/commands/services",
            "demo embedded tutorial", "STEELYARD"),
    Feature("The site: settings, urls, the admin's frame", "kbsite/", "", ""),
)  # fmt: skip


@cache
def _prefixes(part: str) -> list[tuple[str, Feature]]:
    """All beginnings of one kind with their features, the longest first."""
    rows = [(each, feature) for feature in FEATURES for each in getattr(feature, part).split()]
    return sorted(rows, key=lambda row: -len(row[0]))


def feature_of(path: str, part: str = "code") -> Feature | None:
    """The feature with the longest beginning of the path or name; None without one."""
    return next((feature for start, feature in _prefixes(part) if path.startswith(start)), None)


def feature_of_test(name: str) -> Feature | None:
    """The feature of which the longest word stands in the name of a test file."""
    return next((feature for word, feature in _prefixes("tests") if word in name), None)


@cache
def code_lines(text: str) -> int:
    """The lines of a module that are neither blank nor of comments and docstrings."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    lines = {
        line
        for token in tokens
        if token.type not in LAYOUT
        for line in range(token.start[0], token.end[0] + 1)
    }
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            match node.body:
                case [ast.Expr(ast.Constant(str())) as doc, *_]:
                    lines -= set(range(doc.lineno, (doc.end_lineno or doc.lineno) + 1))
    return len(lines)


def _tables(text: str) -> int:
    """The models of a module that have a table: not abstract, with a field of their own."""
    return sum(
        isinstance(node, ast.ClassDef)
        and any(isinstance(one, ast.Assign) and "Field(" in ast.unparse(one) for one in node.body)
        and any(ast.unparse(base).endswith(("Model", "Job", "Base")) for base in node.bases)
        and "abstract = True" not in ast.unparse(node)
        for node in ast.parse(text).body
    )


def modules() -> list[Path]:
    """The product's modules; migrations are history."""
    files = (file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py")))
    return [file for file in files if "migrations" not in file.parts]


def costs() -> dict[str, Counter[str]]:
    """Code lines, test lines, settings, tables and templates by feature."""
    sums: dict[str, Counter[str]] = {feature.name: Counter() for feature in FEATURES}
    for file in modules():
        feature = feature_of(file.relative_to(ROOT).as_posix())
        if feature is None:
            raise ValueError(f"{file} belongs to no feature: add it to FEATURES.")
        text = file.read_text()
        sums[feature.name]["code"] += code_lines(text)
        sums[feature.name]["tables"] += _tables(text) if "models" in file.as_posix() else 0
    for test in sorted((ROOT / "tests").rglob("test_*.py")):
        tested = feature_of_test(test.relative_to(ROOT / "tests").as_posix())
        if tested is not None:
            sums[tested.name]["tests"] += test.read_text().count("\n")
    for name in re.findall(r"(?m)^#? ?([A-Z][A-Z0-9_]+)=", (ROOT / ".env.example").read_text()):
        owner = feature_of(name, "settings") or FEATURES[-1]
        sums[owner.name]["settings"] += 1
    for page in sorted((ROOT / "templates").rglob("*.html")):
        shown = feature_of(page.relative_to(ROOT / "templates").as_posix(), "pages") or FEATURES[-1]
        sums[shown.name]["pages"] += 1
    for page in (ROOT / "search/parts").rglob("*.html"):
        sums[(feature_of(page.relative_to(ROOT).as_posix()) or FEATURES[-1]).name]["pages"] += 1
    return sums


def table() -> str:
    """The table as Markdown, the dearest feature first."""
    rows = sorted(costs().items(), key=lambda row: -row[1]["code"])
    columns = ("code", "tests", "settings", "tables", "pages")
    lines = ["| feature | code lines | test lines | settings | tables | templates |",
             "| --- | ---: | ---: | ---: | ---: | ---: |"]  # fmt: skip
    lines += [
        f"| {name} | " + " | ".join(f"{count[column]:,}" for column in columns) + " |"
        for name, count in rows
    ]
    total: Counter[str] = sum((count for _, count in rows), Counter())
    sums = " | ".join(f"{total[column]:,}" for column in columns)
    return "\n".join([*lines, f"| **all** | {sums} |"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the table in docs/costs.md")
    written = table()
    if not parser.parse_args().write:
        print(written)
        return
    before, rest = TABLE.read_text().split(BEGIN)
    TABLE.write_text(f"{before}{BEGIN}\n\n{written}\n\n{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    main()
