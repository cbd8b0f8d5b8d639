"""The workbench's controls: the form of a profile with explanations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.forms.boundfield import BoundField
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from search.domain import About, Profile, columns_about
from search.tuning.admin.forms import ProfileForm
from search.tuning.publishing import activation
from search.tuning.publishing.drafts import trial

# The effect of each control and the cost of raising it.
COSTS: dict[str, Promise | str] = {
    "fusion": _(
        "A weighted sum keeps the distances between scores. Rank fusion uses ranks "
        "only: more robust if raw scores are unreliable, otherwise less precise."
    ),
    "vector_normaliser": _(
        "How cosine similarities become strengths. Min-max scaling gives "
        "the best candidate the full strength even if nothing matches."
    ),
    "keyword_normaliser": _(
        "How keyword scores become strengths. Unscaled, they have no upper "
        "bound and dominate the other signals."
    ),
    "title_normaliser": _("How title scores become strengths. Coverage needs no scaling."),
    "rrf_k": _("For rank fusion only. Raising it reduces the advantage of the first ranks."),
    "both_factor": _(
        "For rank fusion only. Raising it ranks mediocre passages found by both "
        "signals above the best match of either."
    ),
    "both_first": _(
        "Ranks passages found by both meaning and keywords above all others. It "
        "demotes passages that only one signal can find, often the answers to hard "
        "questions."
    ),
    "own_candidates_only": _(
        "A signal counts only for its own candidates. A passage that just "
        "missed a signal's list is scored as if it did not match at all."
    ),
    "boosts": _(
        "Factors for passages with certain properties. Each boost demotes all passages "
        "without the property."
    ),
    "short_lean": _(
        "Share of the keywords' weight that moves to meaning for questions of one or two known "
        "words that many passages match equally well; none from six words on. Raising it finds "
        "answers in other words, and demotes passages that contain the exact ones."
    ),
    "wordnet_cap": _(
        "The most that WordNet may weigh where its weight depends on the question. Raising it "
        "lets related words outweigh the question's own in short questions."
    ),
    "vector_candidates_only": _(
        "Only meaning finds passages. A passage with the exact words or title is lost if its "
        "meaning is not near."
    ),
    "feedback": _(
        "Relevance feedback: promotes passages similar to the first results. Raising "
        "it brings related passages together, and drifts if the first results are "
        "wrong."
    ),
    "rerank": _(
        "The reranker's share of the scores of the first 20 results. Raising it follows the "
        "model's reading more than the signals; every search waits for its server."
    ),
    "recency_half_life": _(
        "Days after which a document counts half as recent, if recency has "
        "a weight. Raising it weakens the preference for recent documents."
    ),
    "confidence_threshold": _(
        "Below this confidence, a search shows a warning. Raising it warns about more wrong "
        "results, and more right ones."
    ),
    "classifier": _("How queries are classified, which decides their weights."),
    "bypass": _(
        "Matching questions are searched by keywords only. Suitable for bare codes, "
        "not for words, whose meaning is ignored."
    ),
    "depth": _("The number of candidates per signal. Raising it finds more and takes longer."),
    "keyword_scorer": _(
        "BM25 weights rare words higher and is the fastest. Another scorer "
        "requires rebuilding the golden queries' candidate pools."
    ),
    "keyword_budget": _(
        "The maximum number of passages scored by keywords. Raising it is "
        "slower in large libraries; lowering it can miss answers to questions "
        "of common words."
    ),
    "title_scorer": _(
        "The score of a matching title. “10” outweighs all other signals unless scaled."
    ),
}
GROUPS = {
    _("Score fusion"): About.COMBINING,
    _("Boosts and confidence"): About.LIFTING,
    _("Retrieval"): About.LOOKING,
    _("Query analysis"): About.READING,
}
LEAN = "short_lean"  # shown with the weights, which it changes
# Controls shown as sliders: name -> minimum, maximum, step.
RANGES = {
    "short_lean": (0, 1, 0.05),
    "wordnet_cap": (0, 1, 0.05),
    "feedback": (0, 2, 0.05),
    "rerank": (0, 1, 0.05),
    "confidence_threshold": (0, 1, 0.01),
    "depth": (5, 500, 5),
}


@dataclass(frozen=True, slots=True)
class Control:
    """One setting for display; `range` has minimum, maximum and step of a slider."""

    field: BoundField
    cost: Promise | str
    range: tuple[float, float, float] | None

    @property
    def is_check(self) -> bool:
        return self.field.widget_type == "checkbox"


class WorkbenchForm(ProfileForm):
    """The settings and weights of a draft, saved or not."""

    def __init__(self, *args: Any, is_saving: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._is_saving = is_saving
        del self.fields["name"]
        self.fields["boosts"].widget.attrs["rows"] = 3

    def groups(self) -> list[tuple[Promise, list[Control]]]:
        """The controls besides the weights and their lean, by topic."""
        return [
            (title, [self._control(name) for name in columns_about(about) if name != LEAN])
            for title, about in GROUPS.items()
        ]

    def lean(self) -> Control:
        """The control of the weights' other end: those of short questions."""
        return self._control(LEAN)

    def _control(self, name: str) -> Control:
        field = self[name]
        return Control(field, COSTS.get(name, str(field.help_text)), RANGES.get(name))

    def trial(self) -> Profile:
        """The profile that saving would create. Requires a valid form."""
        return trial(self.instance, self.settings, self.weights)

    def problems(self) -> dict[str, list[str]]:
        """The error messages by field."""
        return {name: [str(text) for text in texts] for name, texts in self.errors.items()}

    def _get_validation_exclusions(self) -> set[str]:
        """The fields to skip: before saving, those that are unchanged.

        The model's constraints take three queries each, and sliders move often.
        """
        excluded: set[str] = super()._get_validation_exclusions()  # type: ignore[misc]
        if self._is_saving:
            return excluded
        cleaned, saved = self.cleaned_data, self.instance
        return excluded | {
            name
            for name in activation.FIELDS
            if name in cleaned and cleaned[name] == getattr(saved, name)
        }

    def validate_unique(self) -> None:
        """Validate uniqueness only when saving: each check takes a query."""
        if self._is_saving:
            super().validate_unique()

    def _check_untouched(self, opened: str) -> None:
        if self._is_saving:
            super()._check_untouched(opened)
