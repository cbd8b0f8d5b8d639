"""A2: the sentences of the context that answer best, quoted exactly; needs no language model.

asking      the type of answer that a question asks for, and which sentences offer one; pure
means       questions how to reach a goal, and sentences that name a means; pure
words       how much of the question's idf a text says; pure
scoring     sentences of the context -> scores; pure
answerable  whether the best one answers; pure
vectors     the sentences' embeddings, cached
quotes      all of them: `extract`
"""

from search.answers.extracting.asking import AnswerType
from search.answers.extracting.quotes import Extract, Quote, extract
from search.answers.extracting.vectors import sentence_embedder

__all__ = [
    "AnswerType",
    "Extract",
    "Quote",
    "extract",
    "sentence_embedder",
]
