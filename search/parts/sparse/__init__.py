"""The part “sparse”: words that a learned sparse encoder expects of an answer, as a signal.

models   the words that are expected of each passage, with their weights
signal   the encoder, what it writes for passages, and the signal
"""


def register() -> None:
    """Register the signal; forget the words of passages that change."""
    from ingestion.events import reindexed
    from search.parts.sparse.signal import SPARSE, forget
    from search.signals import registry

    registry.register(SPARSE)
    reindexed.connect(forget)
