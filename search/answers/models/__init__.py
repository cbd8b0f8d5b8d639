"""The tables of answers."""

from search.answers.models.records import Answer, AnswerFeedback, AnswerSource, ModelCall, Thread
from search.answers.models.settings import AnswerLimits, AnswerSettings, ModelPrice
