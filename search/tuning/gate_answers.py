"""Results for the questions of a gate file: of this site, of another by its API, of a report."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, Self

import httpx2

from common.retries import retry_after
from search.engine.embed import warm_up
from search.pipeline import Choices
from search.presentation.results import Result
from search.tuning.evaluation.beir import EvaluationError
from search.tuning.evaluation.profile_runs import problem_in, response_to
from search.tuning.gate_file import GateFile, GateQuestion

PAGE_SIZE = 10
TIMEOUT, LONGEST_WAIT = 60.0, 120.0  # seconds; guesses
SEPARATOR = " > "


@dataclass(frozen=True, slots=True)
class SitePassage:
    """A result: its document's names, and the headings above the section that matched."""

    id: str
    title: str
    file_name: str
    headings: tuple[str, ...]

    @classmethod
    def of(cls, result: Result) -> Self:
        path = result.section.path if result.section else result.heading_path
        return cls(result.document_id, result.title, result.file_name, tuple(path))

    def fits(self, name: str) -> bool:
        """Whether a name of a file means it: `document` or `document#heading > heading`.

        A document's names are its id, title and file name, also without the suffix; case counts
        not. The headings may leave out those above and between.
        """
        if self._is_document(name):
            return True
        document, _, section = name.partition("#")
        if not section or not self._is_document(document):
            return False
        above = iter(heading.casefold() for heading in self.headings)
        return all(part.strip().casefold() in above for part in section.split(SEPARATOR))

    def _is_document(self, name: str) -> bool:
        names = (self.id, self.title, self.file_name, PurePath(self.file_name).stem)
        return name.strip().casefold() in [each.casefold() for each in names]

    def judged_as(self, question: GateQuestion) -> str:
        """The longest of the question's judged names that fits; else one of its own."""
        fitting = [name for name in question.grades if self.fits(name)]
        return max(fitting, key=len, default=f"{self.id}#{SEPARATOR.join(self.headings)}")


@dataclass(frozen=True, slots=True)
class SiteAnswer:
    """A site's first results for a question; `is_sure` unless it says that nothing may answer."""

    results: tuple[SitePassage, ...]
    is_sure: bool
    milliseconds: float

    @classmethod
    def of_data(cls, row: Mapping[str, Any]) -> Self:
        """The inverse of `asdict`. Raises KeyError or TypeError for anything else."""
        results = (
            SitePassage(**{**each, "headings": tuple(each["headings"])}) for each in row["results"]
        )
        return cls(tuple(results), bool(row["is_sure"]), float(row["milliseconds"]))


Ask = Callable[[GateQuestion], SiteAnswer]


def ask_here(file: GateFile, profile: str) -> Ask:
    """A function that searches this site as readers do, under the active profile by default."""
    warm_up()

    def ask(question: GateQuestion) -> SiteAnswer:
        response = response_to(
            question.text,
            file.collections,
            Choices(profile=profile),
            page_size=PAGE_SIZE,
            group=not question.by_section,
        )
        if response is None:
            return SiteAnswer((), is_sure=False, milliseconds=0.0)
        if problem := problem_in(response.degraded):
            raise EvaluationError(problem)
        return SiteAnswer(
            tuple(map(SitePassage.of, response.results)),
            not response.low_confidence,
            response.milliseconds["total"],
        )

    return ask


@contextmanager
def ask_site(file: GateFile, profile: str, url: str, token: str) -> Iterator[Ask]:
    """Yield a function that searches the site at `url` by its API. It is not recorded there."""
    headers = {"DNT": "1"} | ({"Authorization": f"Bearer {token}"} if token else {})
    try:
        client = httpx2.Client(base_url=url.rstrip("/"), headers=headers, timeout=TIMEOUT)
    except (httpx2.InvalidURL, UnicodeError, ValueError) as error:
        raise EvaluationError(f"{url} is not an address: give https://HOST.") from error
    with client:

        def ask(question: GateQuestion) -> SiteAnswer:
            body: dict[str, Any] = {"query": question.text, "page_size": PAGE_SIZE}
            body |= {"collection": list(file.collections)} if file.collections else {}
            body |= {"profile": profile} if profile else {}
            data, milliseconds = _posted(client, body | {"group": not question.by_section})
            if problem := problem_in(data["degraded"]):
                raise EvaluationError(f"{url}: {problem}")
            passages = tuple(map(_passage, data["results"]))
            return SiteAnswer(passages, not data["low_confidence"], milliseconds)

        yield ask


def _posted(client: httpx2.Client, body: Mapping[str, Any]) -> tuple[dict[str, Any], float]:
    """The site's response with its milliseconds; waits where the site asks to come back later."""
    waited = 0.0
    while True:
        started = time.perf_counter()
        try:
            answer = client.post("/api/v1/search/", json=body)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise EvaluationError(
                f"{client.base_url} does not answer ({error}). Check the address of --site."
            ) from error
        milliseconds = (time.perf_counter() - started) * 1000
        pause = retry_after(answer.headers.get("Retry-After")) or 0.0
        if answer.status_code != 429 or not 0 < pause <= LONGEST_WAIT - waited:
            break
        waited += pause
        time.sleep(pause)
    data: Any = None
    with suppress(ValueError):
        data = answer.json()
    if not isinstance(data, dict):
        data = {}
    if answer.status_code == httpx2.codes.OK and "results" in data:
        return data, milliseconds
    if answer.status_code in (401, 403):
        advice = "Give a token with the scope `read` in STEELYARD_TOKEN (page /me/tokens/)."
    else:
        advice = "Check --site and the gate file."
    said = data.get("detail") or "no search of Steelyard's is there."
    raise EvaluationError(f"{client.base_url} answers {answer.status_code}: {said} {advice}")


def _passage(result: Mapping[str, Any]) -> SitePassage:
    document, section = result["document"], result["section"]
    path = section["path"] if section else result["heading_path"]
    return SitePassage(document["id"], document["title"], document["file_name"], tuple(path))


def of_report(path: Path) -> dict[str, SiteAnswer]:
    """The answers that `--json` wrote in an earlier run, by question. Raises EvaluationError."""
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))["answers"]
        return {text: SiteAnswer.of_data(row) for text, row in rows.items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise EvaluationError(
            f"{path} is no report of a gate ({type(error).__name__}). Write one with --gate FILE "
            f"--json {path.name}, where the ranking is as it should be."
        ) from error


def all_of(
    questions: Sequence[GateQuestion], ask: Ask, progress: Callable[[int, int], None]
) -> dict[str, SiteAnswer]:
    """Each question's answer by its text. The first question is asked twice: caches are cold."""
    ask(questions[0])
    answers = {}
    for done, question in enumerate(questions):
        progress(done, len(questions))
        answers[question.text] = ask(question)
    return answers
