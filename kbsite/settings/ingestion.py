"""Settings of documents: uploads, parsing, imports, embedding."""

from __future__ import annotations

from pathlib import Path

from kbsite.settings.environment import VAR_DIR, env

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
# For one address with its redirects: seconds, and MB. Guesses.
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
# Memory of the database server for building the index of an embedding space.
INDEX_BUILD_MEMORY_MB = env.int("INDEX_BUILD_MEMORY_MB", default=256)
