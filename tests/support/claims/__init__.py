"""Labelled sentences for the check of answers: true ones, and ones made false by mutation.

`documents` has texts of our own, `restatements` the ways to say a sentence again, `mutations` those
to make it false; `labelled` puts them together and measures. `by_hand` has single hard cases.
Nothing here reads the check's own word lists, or the figures would say little about other texts.

    python -m tests.support.claims.labelled [FOLDER OF A CORPUS, NUMBER OF ITS PASSAGES]
"""
