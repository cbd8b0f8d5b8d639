"""The evaluation of answers on judged collections: `manage.py evaluate_answers`.

questions  the judged questions with their gold answers, and those without an answer
figures    rows -> shares, context recall, AUROC, the risk-coverage curve; pure
asking     one question: its context, its quotes and what they must beat, its answers in each mode
report     the outcome as figures, which are the JSON, and as an evaluation run
printing   the figures as text
"""
