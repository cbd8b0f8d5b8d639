"""Documents (uploads, parsing, imports, embedding) and search (questions, answers, analytics)."""

from __future__ import annotations

from pathlib import Path

from kbsite.settings.environment import VAR_DIR, env
from kbsite.settings.sign_in_and_api import OAUTH

# Language (ISO 639-1) of a document that states none and is too short for detection.
DEFAULT_LANGUAGE = env.str("DEFAULT_LANGUAGE", default="en")
# How many versions of a document are kept, the newest first, and for how many days a deleted
# document can be restored; 0: it is removed at once.
VERSIONS_KEPT = max(1, env.int("VERSIONS_KEPT", default=5))
DELETION_GRACE_DAYS = max(0, env.int("DELETION_GRACE_DAYS", default=30))
MAX_UPLOAD_BYTES = env.int("MAX_UPLOAD_MB", default=200) * 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FILES = 200  # a guess

# Limits of parsing one file, the defaults of ParseLimits.
# The rest is in ingestion/parsing/ocr.py.
_seconds = env.int("PARSE_WALL_SECONDS", default=60)
PARSE_LIMITS = {
    "PARSE_WALL_SECONDS": _seconds,
    "PARSE_CPU_SECONDS": _seconds,
    "PARSE_MEMORY_MB": env.int("PARSE_MEMORY_MB", default=2_048),
    "PARSE_PAGES": env.int("PARSE_PAGES", default=3_000),
}

# Text recognition of scanned PDFs and of images, where Tesseract's language data is installed;
# never downloaded.
OCR = env.str("OCR", default="auto")
OCR_LANGUAGES = env.list("OCR_LANGUAGES", default=["eng"])
OCR_PAGES = env.int("OCR_PAGES", default=100)
TESSDATA_PREFIX = env.str("TESSDATA_PREFIX", default="")

# Whether the date and the place that a camera wrote into an image are indexed with it.
IMAGE_EXIF = env.bool("IMAGE_EXIF", default=False)
# Pictures of pages, drawn when a reader asks for one: the space that they may take beside the
# originals, the least recently seen removed first; 0: no pictures are offered.
PAGE_PICTURES_BYTES = max(0, env.int("PAGE_PICTURES_MB", default=1_024)) * 1024 * 1024
PAGE_PICTURES_SECONDS = 10  # for one picture; a guess

# How much of its section is shown with a passage, in tokens of the embedding model.
SECTION_TOKENS = 800

# Fetching documents from web addresses; off by default.
URL_IMPORT = env.bool("URL_IMPORT", default=False)
# Internal hosts and networks that may be fetched from, and hosts that never may.
URL_IMPORT_ALLOW = env.list("URL_IMPORT_ALLOW", default=[])
URL_IMPORT_DENY = env.list("URL_IMPORT_DENY", default=[])
URL_IMPORT_MAX_PAGES = env.int("URL_IMPORT_MAX_PAGES", default=1_000)
# For one address with its redirects: seconds, and MB unpacked. Guesses.
URL_IMPORT_PORTS = [80, 443]
URL_IMPORT_SECONDS = 60
URL_IMPORT_MB = 50
# Seconds between two requests to a host, a guess; and our name to web servers and in robots.txt.
URL_IMPORT_DELAY = 1.0
URL_IMPORT_AGENT = "Steelyard"

# Internal hosts and networks, each with a port or without, that webhooks may go to; the seconds
# that a receiver has to respond; and the days that deliveries are kept.
WEBHOOK_ALLOW = env.list("WEBHOOK_ALLOW", default=[])
WEBHOOK_SECONDS = 10.0  # a guess
WEBHOOK_DAYS = 30  # a guess

# Server folders that may be imported or watched through the admin; empty: by command only.
IMPORT_ROOTS = [Path(root) for root in env.list("IMPORT_ROOTS", default=[])]
WATCH_ROOTS = [Path(root) for root in env.list("WATCH_ROOTS", default=[])]
# Limits of an imported archive: its size, its number of files, its size unpacked.
IMPORT_MAX_BYTES = env.int("IMPORT_MAX_MB", default=2_048) * 1024 * 1024
IMPORT_MAX_FILES = env.int("IMPORT_MAX_FILES", default=100_000)
IMPORT_MAX_UNPACKED_BYTES = 10 * IMPORT_MAX_BYTES  # a guess

# How long a lease lasts without a heartbeat before another worker may take the document over.
INGESTION_LEASE_SECONDS = 60  # a guess

# --- embedding ---
EMBEDDER = env.str(
    "EMBEDDER", default="openai" if env.str("OPENAI_API_KEY", default="") else "local"
)
_IN_PROCESS = {
    "models_dir": Path(env.str("MODELS_DIR", default=str(VAR_DIR / "models"))),
    "threads": env.int("EMBEDDER_THREADS", default=0),
}
EMBEDDER_OPTIONS = {
    "local": {**_IN_PROCESS, "folder": env.str("LOCAL_MODEL_FOLDER", default="") or None},
    "fastembed": _IN_PROCESS,
    "openai": {
        "api_key": env.str("OPENAI_API_KEY", default=""),
        "base_url": env.str("OPENAI_BASE_URL", default="") or None,
        "model": env.str("OPENAI_EMBEDDING_MODEL", default="text-embedding-3-small"),
        "dimensions": env.int("OPENAI_EMBEDDING_DIMENSIONS", default=0) or None,
        "timeout": 30.0,  # seconds for a batch; a guess
        "batch_size": 128,  # texts of a request; a guess
    },
}
# The servers beside OpenAI's and OPENAI_BASE_URL that embedding spaces may send texts to, and the
# variables beside OPENAI_API_KEY that may hold their keys.
EMBEDDING_ADDRESSES = env.list("EMBEDDING_ADDRESSES", default=[])
EMBEDDING_KEY_VARIABLES = env.list("EMBEDDING_KEY_VARIABLES", default=[])
# A chat model that names the concepts of documents; empty: statistics do. Passages are sent to
# this server. Seconds for one try; three are made.
CONCEPTS_MODEL = env.str("CONCEPTS_MODEL", default="")
CONCEPTS_BASE_URL = env.str("OPENAI_BASE_URL", default="")
CONCEPTS_API_KEY = env.str("OPENAI_API_KEY", default="")
CONCEPTS_TIMEOUT = 30.0  # a guess
# Memory of the database server for building the index of an embedding space.
INDEX_BUILD_MEMORY_MB = env.int("INDEX_BUILD_MEMORY_MB", default=256)
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
# With an address every change is sent to it, also while Postgres retrieves.
QDRANT_URL = env.str("QDRANT_URL", default="")
QDRANT_API_KEY = env.str("QDRANT_API_KEY", default="")
# Whether Postgres indexes vectors, too. Without, only what Qdrant has is found by meaning.
VECTOR_INDEX = env.bool("VECTOR_INDEX", default=True)

# The share of questions that the library can answer, between 0 and 1. Confidences are fitted to
# judged questions of which one half has an answer (docs/adr/0017-confidence.md).
CONFIDENCE_BASE_RATE = env.float("CONFIDENCE_BASE_RATE", default=0.5)

# The judged collections that ship, by name: the dotted paths of functions that make one.
JUDGED_COLLECTIONS = {"demo": "kbsite.demo.examples.collection"}

# --- reranker ---
# The server that reads the first results of profiles that give it a share; empty: none. The
# protocol is cohere or tei, its scores lie between 0 and 1.
# RERANKER=sentences needs no server.
RERANKER = env.str("RERANKER", default="")
RERANKER_URL = env.str("RERANKER_URL", default="")
RERANKER_MODEL = env.str("RERANKER_MODEL", default="")
RERANKER_API_KEY = env.str("RERANKER_API_KEY", default="")

# The optional parts of the search that are installed: see search/parts.
SEARCH_PARTS = env.list(
    "SEARCH_PARTS", default=["concepts", "wordnet", "reranker", "qdrant", "experiments"]
)

# The folder of the WordNet database (index.noun, data.noun, ...); Debian's package wordnet-base
# puts it here. Only profiles that weigh WordNet need it.
WORDNET_DIR = env.str("WORDNET_DIR", default="/usr/share/wordnet")

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
# A server named for answers is one that may be asked; a key for embeddings alone is not.
ANSWERS_AUTOMATIC = env.str(
    "ANSWERS_AUTOMATIC",
    default="model"
    if ANSWER_BASE_URL or ANSWER_MODEL or env.str("ANSWER_API_KEY", default="")
    else "quotes",
)
# How many days answers and conversations are kept.
ANSWERS_DAYS = max(1, env.int("ANSWERS_DAYS", default=180))

# --- readers' own pages ---
# How many days a reader's history is kept, 0 for none on this site, and the hours between two
# digests of saved searches.
HISTORY_DAYS = max(0, env.int("HISTORY_DAYS", default=180))
NEWS_MAIL_HOURS = 24

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
ALERT_EMAILS = env.list("ALERT_EMAILS", default=[])
EMAIL_TIMEOUT = 10.0  # a guess
