"""Q6: rerankers behind one protocol: a server reads question and passage together (ADR 41)."""

from search.reranking.guarded import GuardedReranker, configured, current, register
from search.reranking.protocol import Kind, Reranker, RerankerConfig

__all__ = [
    "GuardedReranker",
    "Kind",
    "Reranker",
    "RerankerConfig",
    "configured",
    "current",
    "register",
]
