"""Status reports on embedding spaces, for the command and the admin."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from django.core.cache import cache
from django.db.models import Count, Sum
from django.utils import timezone

from ingestion import spaces
from ingestion.embedding.fastembed import COMMAND, EMBEDDERS
from ingestion.errors import EmbeddingError
from ingestion.models import EmbeddingSpace
from ingestion.models.collections import language_name
from ingestion.spaces.index import Index, indexes_of

State = EmbeddingSpace.State


@dataclass(frozen=True, slots=True)
class Report:
    """A space with the data that its row does not hold.

    `missing` passages with `missing_tokens` tokens lack a vector; None if they were not counted.
    `remarks` are sentences that people should know.
    """

    space: EmbeddingSpace
    index: Index
    is_worked_on: bool = False
    missing: int | None = None
    missing_tokens: int = 0
    remarks: tuple[str, ...] = ()

    @property
    def share(self) -> float:
        """The share of passages with a vector, in [0, 1], by the row's counts."""
        if self.space.filled_at is not None and not self.missing:
            return 1.0
        total = self.space.chunks_total
        filled = self.space.chunks_filled if self.missing is None else max(total - self.missing, 0)
        return min(filled / total, 1.0) if total else 0.0

    @property
    def waits(self) -> bool:
        """Whether the next attempt has to wait."""
        due = self.space.not_before
        return due is not None and due > timezone.now()

    @property
    def is_filling(self) -> bool:
        """Whether its backfill, first or repeated, is running or about to run."""
        return self.space.is_written and not self.space.paused and self.space.filled_at is None

    @property
    def is_settled(self) -> bool:
        """Whether it is stable until a person acts: ready to be activated, stopped, or in use."""
        if self.space.state == State.DROPPING:
            return False
        if not self.space.is_written or self.space.paused:
            return True
        return self.space.filled_at is not None and self.index.state.is_usable

    @property
    def is_ready(self) -> bool:
        """Whether it is ready to be activated, by its row and its index."""
        return self.space.state == State.BUILDING and self.is_settled and not self.space.paused

    @property
    def state_words(self) -> str:
        """The state in a few words, with the progress."""
        space = self.space
        if space.state == State.DROPPING:
            return space.get_state_display()
        if self.is_ready:
            return "Ready to be activated"
        if space.paused and space.filling_since is None:
            return "Not started"
        if space.error and space.paused:
            return f"Stopped by an error at {self.share:.0%}"
        if space.paused:
            return f"Paused at {self.share:.0%}"
        if space.filled_at is None:
            return f"{space.get_state_display()}, {self.share:.0%} filled"
        return f"{space.get_state_display()}, filled"

    @property
    def lines(self) -> list[str]:
        """The report for a terminal."""
        space = self.space
        lines = [
            f"{space.pk}  {space}: {self.state_words}",
            f"   model        {space.config['kind']}, {space.fingerprint}",
            f"   index        {self.index}",
        ]
        if self.missing is not None:
            total = f"{space.chunks_total:,}"
            tokens = f"about {self.missing_tokens:,} tokens"
            without = f", {self.missing:,} lack one, {tokens}" if self.missing else ", all of them"
            lines.append(f"   vectors      of {total} passages{without}")
        if self.is_worked_on:
            lines.append("   now          a worker is processing it")
        if space.error:
            lines.append(f"   fault        {space.error}")
        return lines + [f"   note         {words}" for words in self.remarks]


def report_on(space: EmbeddingSpace, *, brief: bool = False) -> Report:
    """The report on one space; `brief` omits counts and remarks."""
    return reports_on([space], brief=brief)[0]


def reports_on(rows: Iterable[EmbeddingSpace], *, brief: bool = False) -> list[Report]:
    """The reports on `rows`, in order: one query, and two more for each unless `brief`."""
    listed = list(rows)
    indexes = indexes_of(listed)
    return [_report(row, indexes[row.pk], row.is_leased, brief=brief) for row in listed]


def overview(rows: Sequence[EmbeddingSpace]) -> list[str]:
    """Remarks on the spaces as a whole, a sentence each; may be empty."""
    active = next((row for row in rows if row.state == State.ACTIVE), None)
    if active is None:
        return ["No space is active: the first document creates one for the model in the settings."]
    try:
        card = spaces.settings_embedder(active.dimensions).card
    except EmbeddingError as error:
        return [f"The settings name a model that is not available: {error}"]
    if card.fingerprint == active.fingerprint:
        return []
    return [
        f"The settings name {card.name}, but {active} answers, and new documents go into it: "
        "EMBEDDER and its settings only open the first space. To move to that model: "
        "manage.py embedding_space create, backfill, activate. To stay: set them back."
    ]


# The share of passages in languages that the model does not know from which another is offered
# (the number).
UNKNOWN_SHARE = 0.10
SHARES_CACHE_SECONDS = 600  # seconds, because every passage is counted


def better_models(rows: Sequence[EmbeddingSpace]) -> list[str]:
    """Sentences on languages that the active model does not know, and fastembed's models that do.

    Empty while those languages make up UNKNOWN_SHARE of the passages or less.
    """
    active = next((row for row in rows if row.state == State.ACTIVE), None)
    if active is None or not active.languages:
        return []
    counts = cache.get_or_set("passages-by-language", _by_language, SHARES_CACHE_SECONDS) or {}
    total = sum(counts.values())
    unknown = [code for code in counts if code and code not in active.languages]
    passages = sum(counts[code] for code in unknown)
    if passages <= UNKNOWN_SHARE * total:
        return []
    languages = ", ".join(
        f"{language_name(code)} {counts[code] / total:.0%}" for code in unknown[:5]
    )
    first = (
        f"{passages / total:.0%} of the passages are in languages that {active.name} does not "
        f"know ({languages}): they are ranked by keywords above all. Another model can be filled "
        "while this one answers."
    )
    filled = {row.config.get("model") for row in rows}
    offered = [
        f"{model.name} ({', '.join(map(language_name, model.languages)) or 'many languages'}; "
        f"licence {model.licence}; {model.gigabytes:g} GB)"
        for model in EMBEDDERS
        if model.name not in filled and (not model.languages or unknown[0] in model.languages)
    ]
    if not offered:
        return [first]
    return [
        first,
        f"Models that know {language_name(unknown[0])}: {', '.join(offered)}.",
        f"On every web and worker machine, with the pip of Steelyard's environment: {COMMAND}. "
        "Then: manage.py embedding_space create fastembed --model NAME, then backfill, compare "
        "and activate it.",
    ]


def _by_language() -> dict[str, int]:
    """The number of searchable passages by their document's language, the most first."""
    languages = spaces.ready_chunks().order_by().values_list("document__language")
    return dict(sorted(languages.annotate(count=Count("pk")), key=lambda row: (-row[1], row[0])))


def _report(space: EmbeddingSpace, index: Index, is_worked_on: bool, *, brief: bool) -> Report:
    if brief:
        return Report(space, index, is_worked_on)
    space.chunks_total = spaces.ready_chunks().count()
    missing = spaces.unembedded(space).aggregate(count=Count("pk"), tokens=Sum("tokens"))
    return Report(
        space,
        index,
        is_worked_on,
        missing=missing["count"],
        missing_tokens=missing["tokens"] or 0,
        remarks=tuple(line for remarks in _remarks for line in remarks(space)),
    )


def _too_long(space: EmbeddingSpace) -> Iterable[str]:
    """A remark if passages exceed the model's window."""
    count = spaces.ready_chunks().filter(tokens__gt=space.max_tokens).count()
    if count:
        yield (
            f"{count:,} passages are longer than the {space.max_tokens} tokens that this model "
            "reads, as the present one counts them: their ends are not embedded. Process those "
            "documents again once the space is active."
        )


Remarks = Callable[[EmbeddingSpace], Iterable[str]]
_remarks: list[Remarks] = [_too_long]


def register_remarks(remarks: Remarks) -> None:
    """Add sentences on a space to its reports."""
    _remarks.append(remarks)
