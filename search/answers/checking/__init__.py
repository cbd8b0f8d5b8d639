"""A4: each sentence of an answer against the passages that it cites. Pure.

splitting   an answer's Markdown -> its sentences, complete or still growing
words       content words, names, identifiers, quoted words
quantities  units, dates, times; numerals: numbers in words; figures: all of them in a text
claims      a sentence as a claim, its passages as evidence
proving     what of a claim its passages lack
verdicts    `check`: the verdict on a sentence; `product_confidence`: what an answer is worth
"""
