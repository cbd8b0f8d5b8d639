"""W1: the workbench's controls as a form: the profile's own, checked as everywhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.forms.boundfield import BoundField

from search.domain import About, Profile, columns_about
from search.tuning.admin.forms import ProfileForm
from search.tuning.publishing import activation
from search.tuning.workbench.preview import trial

# What each control does and what raising it costs, where the profile's own page says only half.
COSTS = {
    "fusion": "A weighted sum keeps how much better one match is than the next. Rank fusion "
    "forgets that: steadier where raw scores cannot be trusted, blunter everywhere else.",
    "vector_normaliser": "How cosines become strengths. Stretching them over this question's "
    "candidates gives the best one full marks even where nothing fits.",
    "keyword_normaliser": "How keyword scores become strengths. Left as they are they have no "
    "upper end and drown the other signals.",
    "title_normaliser": "How title scores become strengths. Coverage needs none.",
    "rrf_k": "For rank fusion alone. Raising it makes the first ranks count less.",
    "both_factor": "For rank fusion alone. Raising it lets a mediocre passage that both signals "
    "found pass the best match of either.",
    "both_first": "Puts what meaning and keywords both found before all else. It costs the "
    "passages that only one of them can find, which are often the answer to a hard question.",
    "own_candidates_only": "A signal counts only for what it brought itself. It costs fairness: "
    "a passage that just missed one list is scored as if it did not fit at all.",
    "boosts": "Factors and terms for what a passage holds. Each one you add takes places from "
    "passages that do not hold it, wanted or not.",
    "feedback": "Lets what is like the first results rise. Raising it gathers what belongs "
    "together, and drifts off where the first results are wrong.",
    "recency_half_life": "Days after which a document counts half as recent, where recency has a "
    "weight. Raising it makes recency tell old from new less.",
    "confidence_threshold": "Below this a search says that it may not have found the answer, and "
    "tries other weights. Raising it warns of more wrong pages, and of more right ones.",
    "classifier": "Who tells the class of a question, and with it its weights.",
    "bypass": "Questions that match this go to the keywords alone. Right for bare codes, wrong "
    "for words: their meaning is not looked at.",
    "depth": "How many candidates each signal brings. Raising it finds more and takes longer.",
    "keyword_scorer": "BM25 knows rare words from common ones and is the fastest. Another one "
    "needs the golden queries' candidates to be found again.",
    "keyword_budget": "At most so many passages are scored by keywords. Raising it is slower in "
    "large libraries; lowering it can miss answers to questions of common words.",
    "title_scorer": "What a fitting title is worth. “10” outweighs all else unless it is scaled.",
}
GROUPS = {
    "How scores are combined": About.COMBINING,
    "What lifts a result": About.LIFTING,
    "How far it looks": About.LOOKING,
    "How questions are read": About.READING,
}
# For these a slider says more than a figure: name -> the ends and the step.
RANGES = {
    "feedback": (0, 2, 0.05),
    "confidence_threshold": (0, 1, 0.01),
    "depth": (5, 500, 5),
}


@dataclass(frozen=True, slots=True)
class Control:
    """One setting, ready to be drawn; `range` has its ends and step where it is a slider."""

    field: BoundField
    cost: str
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

    def groups(self) -> list[tuple[str, list[Control]]]:
        """The controls besides the weights, by what they are about."""
        return [
            (title, [self._control(name) for name in columns_about(about)])
            for title, about in GROUPS.items()
        ]

    def _control(self, name: str) -> Control:
        field = self[name]
        return Control(field, COSTS.get(name, str(field.help_text)), RANGES.get(name))

    def trial(self) -> Profile:
        """The profile that saving would make. For a valid form."""
        return trial(self.instance, self.settings, self.weights)

    def problems(self) -> dict[str, list[str]]:
        """What is wrong, by field, for people."""
        return {name: [str(text) for text in texts] for name, texts in self.errors.items()}

    def _get_validation_exclusions(self) -> set[str]:
        """Before it is saved only what was changed is checked: the rest was when it was saved.

        The model's constraints cost three statements each, and a slider moves often.
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
        """Nothing before it is saved: a query each."""
        if self._is_saving:
            super().validate_unique()

    def _check_untouched(self, opened: str) -> None:
        if self._is_saving:
            super()._check_untouched(opened)
