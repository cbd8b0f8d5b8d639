"""The part “wordnet”: related words of a question's English words as a signal (ADR 41)."""
