"""The admin of answers: profiles with a box to try them, prices and budgets, answers given."""

from search.answers.admin.profiles import AnswerProfileAdmin, AnswerProfileChangeAdmin
from search.answers.admin.records import AnswerAdmin, AnswerLimitsAdmin, ModelPriceAdmin

__all__ = [
    "AnswerAdmin",
    "AnswerLimitsAdmin",
    "AnswerProfileAdmin",
    "AnswerProfileChangeAdmin",
    "ModelPriceAdmin",
]
