"""The part “reranker”: a server or a local model reads question and passage together (ADR 41)."""
