"""How often answers answer, refuse and cite rightly: `python -m benchmarks.answers`.

questions  the judged questions with their gold answers, and those without an answer
figures    rows -> shares, context recall, AUROC, the risk-coverage curve; pure
asking     one question: its context, its quotes and what they must beat, its answers in each mode
report     the rows as figures, which are the JSON
printing   the figures as text
"""
