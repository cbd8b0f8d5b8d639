"""The part “concepts”: documents' characteristic phrases, as a signal and as filters (ADR 41)."""
