"""The part “reranker”: a server or a local model reads question and passage together (ADR 41)."""


def register() -> None:
    """Register the reranker of the settings, and the probes."""
    from search.engine.rank import register_reranker
    from search.parts.reranker.guarded import current

    register_reranker(current)
