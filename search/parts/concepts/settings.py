"""A chat model that names the concepts of documents; empty: statistics do.

Passages are sent to this server.
"""

from environ import Env

env = Env()
CONCEPTS_MODEL = env.str("CONCEPTS_MODEL", default="")
CONCEPTS_BASE_URL = env.str("OPENAI_BASE_URL", default="")
CONCEPTS_API_KEY = env.str("OPENAI_API_KEY", default="")
CONCEPTS_TIMEOUT = 30.0  # seconds for one try, of three; a guess
