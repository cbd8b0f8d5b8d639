"""A: answers, a Django app. The public face is `answering`: read that first.

domain       the values: Passage, Context, Sentence, Citation, Step, events; pure
models       answer settings, threads, answers with their sources, model calls, feedback
content_words
             words with content, for the check, follow-ups and quotes; pure
earlier_questions
             how a question gets its subject from the one before it
request      a question with all that decides how it is answered
making       the steps of an answer, their order in each mode, its searches and its text
context      candidates -> passages under a token budget; pure; context_pieces: of chunks
quotes       the piece of the context that answers best, quoted exactly, without a language
             model; quote_scoring: sentences -> scores; quote_pieces: what goes with a sentence
generating   a language model's answer, streamed; the `openai` package is imported here alone
checking     each sentence against the passages that it cites; pure
recording    the rows of answers, and what their readers may see of them
answering    the answer story: question -> results -> context -> sentences -> checks -> record
threads      conversations: shared, exported, deleted, forgotten; feedback: of readers on answers
streaming    server-sent events; as_json: JSON; rendering: HTML and Markdown
prompts      the texts of the system prompt and its rules
budgets      what the calls of a model may cost
"""
