"""The protocol of OpenAI's API at /v1/, for its clients: chat completions, models, embeddings.

docs/api.md says what each parameter does here. No code of the `openai` package is used.
"""
