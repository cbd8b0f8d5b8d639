"""Each sentence of an answer against the passages that it cites. Pure.

splitting       an answer's Markdown -> its sentences, complete or still growing
figures         numbers with units, dates, times, and which say the same
numerals        numbers in words
dates           dates and times of day
figure_parsing  `figures`: all of a text, with the units of its numbers
names           names, identifiers, quoted words
evidence        a sentence as a claim, its passages as evidence, and what they lack of it
verdicts        `check`: the verdict on a sentence; `product_confidence`: an answer's worth
"""
