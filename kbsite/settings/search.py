"""Settings of search: questions, parts, answers, analytics, measurements."""

from __future__ import annotations

from kbsite.settings.accounts import OAUTH
from kbsite.settings.environment import env

QUERY_EMBEDDING_TIMEOUT = env.float("QUERY_EMBEDDING_TIMEOUT", default=2.0)
QUERY_EMBEDDING_TTL = 7 * 24 * 3600  # a guess

# --- questions ---
# The longest question in characters, at most the 4,000 that the tables hold.
SEARCH_QUERY_CHARS = env.int("SEARCH_QUERY_CHARS", default=4000)
# The dotted path of a class that classifies questions which no rule matches; empty: they are
# general.
QUERY_CLASSIFIER = env.str("QUERY_CLASSIFIER", default="")

# --- the engine of retrieval ---
# postgres, or qdrant: an engine beside Postgres for libraries beyond one machine (docs/scale.md).
RETRIEVAL_BACKEND = env.str("RETRIEVAL_BACKEND", default="postgres")
# Whether Postgres indexes vectors, too. Without, only what Qdrant has is found by meaning.
VECTOR_INDEX = env.bool("VECTOR_INDEX", default=True)

# The share of questions that the library can answer, between 0 and 1. Confidences are fitted to
# judged questions of which one half has an answer (docs/adr/0017-confidence.md).
CONFIDENCE_BASE_RATE = env.float("CONFIDENCE_BASE_RATE", default=0.5)

# --- answers ---
# Any server with OpenAI's chat API. Without a key and an address, answers consist of quotes. An
# empty ANSWER_MODEL: gpt-5.4-mini at OpenAI, elsewhere the first model that the server names and
# that writes text.
ANSWER_API_KEY = env.str("ANSWER_API_KEY", default=env.str("OPENAI_API_KEY", default=""))
ANSWER_BASE_URL = env.str("ANSWER_BASE_URL", default=env.str("OPENAI_BASE_URL", default=""))
ANSWER_MODEL = env.str("ANSWER_MODEL", default="")
# Whether a model is used at all.
ANSWERS_GENERATED = env.bool("ANSWERS_GENERATED", default=bool(ANSWER_API_KEY or ANSWER_BASE_URL))
# What the search page answers questions with by itself: quotes, which cost nothing, the model, or
# no (a button asks for the answer).
# A server named for answers is one that may be asked; one for embeddings is not.
ANSWERS_AUTOMATIC = env.str(
    "ANSWERS_AUTOMATIC",
    default="model"
    if any(env.str(f"ANSWER_{name}", default="") for name in ("BASE_URL", "MODEL", "API_KEY"))
    else "quotes",
)
# How many days answers and conversations are kept.
ANSWERS_DAYS = max(1, env.int("ANSWERS_DAYS", default=180))

# --- readers' own pages ---
# How many days a reader's history is kept, 0 for none on this site.
HISTORY_DAYS = max(0, env.int("HISTORY_DAYS", default=180))

# --- agents (MCP) ---
# Whether agents without a token may read what visitors may: the public collections. With OAuth they
# are asked to sign in, unless this is set: agents only do so after a 401.
MCP_ANONYMOUS = env.bool("MCP_ANONYMOUS", default=OAUTH == "off")

# --- analytics and quality runs ---
# Whether searches are recorded, for how many days, and after how many they are anonymised.
SEARCH_EVENTS = env.bool("SEARCH_EVENTS", default=True)
SEARCH_EVENTS_DAYS = max(1, env.int("SEARCH_EVENTS_DAYS", default=180))
SEARCH_EVENTS_ANONYMISE_DAYS = max(1, env.int("SEARCH_EVENTS_ANONYMISE_DAYS", default=30))
# An anonymised question keeps its words if at least this many visitors asked it.
SEARCH_EVENTS_KEEP_WORDS_FROM = 3

# Time (TIME_ZONE) of the nightly quality run over the golden set; empty: never.
NIGHTLY_RUN_AT = env.str("NIGHTLY_RUN_AT", default="03:30")
# A fall of the gate's metric by more than this since the last good run raises an alert.
NIGHTLY_MARGIN = 0.02  # a guess
EMAIL_TIMEOUT = 10.0  # a guess
