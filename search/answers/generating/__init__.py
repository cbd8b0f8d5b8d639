"""A3: a language model's answer, streamed. Of the answers, this and `listwise` import `openai`.

messages   the prompts, and readers of the shorter replies
client     `model_for`, `Model`: what the other modules call
server     the configured server: its address, key and model
requests   one request: time limits, retries, the pieces of its reply
failures   what can go wrong, as codes and as messages for readers
markers    the reply's text -> tokens and citations, without thoughts
"""
