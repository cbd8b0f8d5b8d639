"""A language model's answer, streamed. Nothing else in the answers imports `openai`.

messages        the prompts, and readers of the replies
language_model  `model_for`, `Model`: what the other modules call
server          the configured server: its address, key and model, and what can go wrong with it
requests        one request: time limits, retries, the pieces of its reply
markers         the reply's text -> tokens and citations
"""
