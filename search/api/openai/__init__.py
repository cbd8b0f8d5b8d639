"""OpenAI's API at /v1/, for its clients: chat completions and models.

docs/api-openai.md says what each parameter does here. No code of the `openai` package is used.

protocol  keys, views, the shape of an error
models    the models: modes of answering, and collections
requests  a body -> a question, its model, and what is refused
links     the text, whose citations become links and annotations
chat      POST /v1/chat/completions
"""
