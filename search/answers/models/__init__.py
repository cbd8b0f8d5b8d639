"""The tables of answers."""

from search.answers.models.profiles import (
    AnswerLimits,
    AnswerProfile,
    AnswerProfileChange,
    ModelPrice,
)
from search.answers.models.records import Answer, AnswerFeedback, AnswerSource, ModelCall, Thread
