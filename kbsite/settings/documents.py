"""Uploads, parsing, imports and embedding."""

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
DATA_UPLOAD_MAX_NUMBER_FILES = env.int("MAX_FILES_PER_UPLOAD", default=200)

# Limits of parsing one file, the defaults of ParseLimits; `manage.py check` prints them.
PARSE_LIMITS = {
    "PARSE_WALL_SECONDS": env.int("PARSE_WALL_SECONDS", default=60),
    "PARSE_CPU_SECONDS": env.int("PARSE_CPU_SECONDS", default=60),
    "PARSE_MEMORY_MB": env.int("PARSE_MEMORY_MB", default=2_048),
    "PARSE_PANDOC_MEMORY_MB": env.int("PARSE_PANDOC_MEMORY_MB", default=1_024),
    "PARSE_OUTPUT_MB": env.int("PARSE_OUTPUT_MB", default=512),
    "PARSE_SCRATCH_MB": env.int("PARSE_SCRATCH_MB", default=768),
    "PARSE_PAGES": env.int("PARSE_PAGES", default=3_000),
    "PARSE_CHARACTERS": env.int("PARSE_CHARACTERS", default=20_000_000),
    "PARSE_PLAIN_TEXT_CHARACTERS": env.int("PARSE_PLAIN_TEXT_CHARACTERS", default=64_000_000),
    "PARSE_TABLE_ROWS": env.int("PARSE_TABLE_ROWS", default=200_000),
    "PARSE_TABLE_COLUMNS": env.int("PARSE_TABLE_COLUMNS", default=5_000),
    "PARSE_IMAGE_MEGAPIXELS": env.int("PARSE_IMAGE_MEGAPIXELS", default=100),
    "PARSE_ARCHIVE_FILES": env.int("PARSE_ARCHIVE_FILES", default=10_000),
    "PARSE_ARCHIVE_MB": env.int("PARSE_ARCHIVE_MB", default=200),
    "PARSE_ARCHIVE_RATIO": env.int("PARSE_ARCHIVE_RATIO", default=200),
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
PAGE_PICTURES_SECONDS = env.int("PAGE_PICTURES_SECONDS", default=10)

# How much of its section is shown with a passage, in tokens of the embedding model.
SECTION_TOKENS = env.int("SECTION_TOKENS", default=800)

# Fetching documents from web addresses; off by default.
URL_IMPORT = env.bool("URL_IMPORT", default=False)
# Internal hosts and networks that may be fetched from, and hosts that never may.
URL_IMPORT_ALLOW = env.list("URL_IMPORT_ALLOW", default=[])
URL_IMPORT_DENY = env.list("URL_IMPORT_DENY", default=[])
URL_IMPORT_PORTS = env.list("URL_IMPORT_PORTS", cast=int, default=[80, 443])
URL_IMPORT_SECONDS = env.int("URL_IMPORT_SECONDS", default=60)
URL_IMPORT_MB = env.int("URL_IMPORT_MB", default=50)
URL_IMPORT_MAX_PAGES = env.int("URL_IMPORT_MAX_PAGES", default=1_000)
URL_IMPORT_DELAY = env.float("URL_IMPORT_DELAY", default=1.0)
URL_IMPORT_AGENT = env.str("URL_IMPORT_AGENT", default="Steelyard")

# Internal hosts and networks, each with a port or without, that webhooks may go to; the seconds
# that a receiver has to respond; and the days that deliveries are kept.
WEBHOOK_ALLOW = env.list("WEBHOOK_ALLOW", default=[])
WEBHOOK_SECONDS = env.float("WEBHOOK_SECONDS", default=10.0)
WEBHOOK_DAYS = max(1, env.int("WEBHOOK_DAYS", default=30))

# Server folders that may be imported or watched through the admin; empty: by command only.
IMPORT_ROOTS = [Path(root) for root in env.list("IMPORT_ROOTS", default=[])]
WATCH_ROOTS = [Path(root) for root in env.list("WATCH_ROOTS", default=[])]
# Limits of an imported archive: its size, its number of files, its size unpacked.
IMPORT_MAX_BYTES = env.int("IMPORT_MAX_MB", default=2_048) * 1024 * 1024
IMPORT_MAX_FILES = env.int("IMPORT_MAX_FILES", default=100_000)
IMPORT_MAX_UNPACKED_BYTES = env.int("IMPORT_MAX_UNPACKED_MB", default=20_480) * 1024 * 1024

# How long a lease lasts without a heartbeat before another worker may take the document over.
INGESTION_LEASE_SECONDS = env.int("INGESTION_LEASE_SECONDS", default=60)

# --- embedding ---
EMBEDDER = env.str(
    "EMBEDDER", default="openai" if env.str("OPENAI_API_KEY", default="") else "local"
)
EMBEDDER_OPTIONS = {
    "local": {
        "folder": env.str("LOCAL_MODEL_FOLDER", default="") or None,
        "models_dir": Path(env.str("MODELS_DIR", default=str(VAR_DIR / "models"))),
        "threads": env.int("EMBEDDER_THREADS", default=0),
    },
    "openai": {
        "api_key": env.str("OPENAI_API_KEY", default=""),
        "base_url": env.str("OPENAI_BASE_URL", default="") or None,
        "model": env.str("OPENAI_EMBEDDING_MODEL", default="text-embedding-3-small"),
        "dimensions": env.int("OPENAI_EMBEDDING_DIMENSIONS", default=0) or None,
        "timeout": env.float("OPENAI_TIMEOUT", default=30.0),
        "batch_size": env.int("OPENAI_BATCH_SIZE", default=128),
    },
}
# The servers beside OpenAI's and OPENAI_BASE_URL that embedding spaces may send texts to, and the
# variables beside OPENAI_API_KEY that may hold their keys.
EMBEDDING_ADDRESSES = env.list("EMBEDDING_ADDRESSES", default=[])
EMBEDDING_KEY_VARIABLES = env.list("EMBEDDING_KEY_VARIABLES", default=[])
# A chat model that names the concepts of documents; empty: statistics do. Its passages are sent to
# this server. Seconds for one try; three are made.
CONCEPTS_MODEL = env.str("CONCEPTS_MODEL", default="")
CONCEPTS_BASE_URL = env.str("CONCEPTS_BASE_URL", default=env.str("OPENAI_BASE_URL", default=""))
CONCEPTS_API_KEY = env.str("CONCEPTS_API_KEY", default=env.str("OPENAI_API_KEY", default=""))
CONCEPTS_TIMEOUT = env.float("CONCEPTS_TIMEOUT", default=30.0)
# Memory of the database server for building the index of an embedding space.
INDEX_BUILD_MEMORY_MB = env.int("INDEX_BUILD_MEMORY_MB", default=256)
QUERY_EMBEDDING_TIMEOUT = env.float("QUERY_EMBEDDING_TIMEOUT", default=2.0)
QUERY_EMBEDDING_TTL = env.int("QUERY_EMBEDDING_TTL", default=7 * 24 * 3600)
