"""What the tools return. ChatGPT's connectors prescribe Found and Fetched, field by field."""

from __future__ import annotations

from pydantic import BaseModel, Field


class FoundItem(BaseModel):
    id: str
    title: str
    url: str


class Found(BaseModel):
    results: list[FoundItem]


class Fetched(BaseModel):
    id: str
    title: str
    text: str
    url: str
    metadata: dict[str, str]


class CollectionItem(BaseModel):
    name: str
    slug: str = Field(description="For the filter collection:SLUG in a query.")
    description: str
    documents: int


class Collections(BaseModel):
    collections: list[CollectionItem]


class SourceItem(BaseModel):
    number: int = Field(description="The text cites it as [number].")
    id: str = Field(description="For `fetch`.")
    title: str
    url: str
    collection: str
    page: int | None
    cited: bool
    text: str


class Unsupported(BaseModel):
    text: str
    reasons: list[str]


class AnswerItem(BaseModel):
    text: str = Field(description="Markdown with citations such as [1].")
    state: str = Field(description="done, or refused if nothing readable seems to answer.")
    confidence: float | None
    sources: list[SourceItem]
    unsupported: list[Unsupported] = Field(
        description="Sentences that the cited passages do not bear out, with the reasons."
    )
    model: str = Field(description="Empty if the answer consists of quotes.")
    notes: list[str]
    degraded: list[str]


class SignalShare(BaseModel):
    signal: str
    raw: float | None = Field(description="As the database returned it.")
    strength: float = Field(description="`raw`, normalised to 0..1.")
    weight: float
    value: float = Field(description="weight times strength.")


class AppliedAdjustment(BaseModel):
    operation: str
    label: str
    value: float


class RankedItem(BaseModel):
    rank: int
    id: str
    title: str
    url: str
    score: float
    first_because: str = Field(description="Why it precedes all scores; mostly empty.")
    signals: list[SignalShare]
    adjustments: list[AppliedAdjustment] = Field(
        description="Applied to the sum of the signals in turn."
    )


class RankingExplanation(BaseModel):
    query_class: str
    rule: str = Field(description="The rule that decided the class.")
    profile: str
    weights: dict[str, float]
    confidence: float | None
    total: int
    results: list[RankedItem]
    notes: list[str]
    degraded: list[str]
