"""A2: the sentences of the context that answer best, quoted exactly; needs no language model.

answer_types  the type of answer that a question asks for, and which sentences offer one; pure
scoring       sentences of the context -> scores by words and meaning; pure
quotes        their embeddings, cached, whether the best one answers, and all of this: `extract`
"""
