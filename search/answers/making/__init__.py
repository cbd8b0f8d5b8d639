"""The making of an answer.

modes              the order of the steps in each mode: read it first
searching          what is searched for, and the context of the results
writing            the text: a model's, or quotes
listing            the number of documents and the first of them, where a question asks for these
drafting           the text as it grows, checked by the sentence; pure
draft              what there is of the answer, what it has cost, and its calls of the model
"""
