"""A: answers, a Django app. The public face is `answering`: read that first.

domain       the values: Passage, Context, Sentence, Citation, Step, events; pure
models       answer profiles, threads, answers with their sources, model calls, feedback
context      results -> passages under a token budget
extracting   the sentences of the passages that answer best; needs no language model
generating   a language model's answer, streamed; the `openai` package is imported here and
             in `listwise` alone
checking     each sentence against the passages that it cites
measuring    `manage.py evaluate_answers`: how often answers answer, refuse and cite rightly
recording    the rows of answers, and what their readers may see of them; retention: their end
work         an answer in the making; searching, writing, drafting: its searches and its text
modes        the order of the steps in each mode; followups: the questions of a thread
answering    the answer story: question -> results -> context -> sentences -> checks -> record
threads      conversations: shared, exported, deleted; feedback: what their readers say of answers
streaming    server-sent events; wire: JSON; rendering: HTML and Markdown
publishing   answer profiles, published and rolled back; prompts: their texts
budgets      what the calls of a model may cost
"""
