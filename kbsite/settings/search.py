"""Search: questions, analytics, quality runs and their alerts, the HTTP API."""

from __future__ import annotations

from datetime import timedelta

from kbsite.settings.environment import env

# --- questions ---
# The longest question in characters, at most the 4,000 that the tables hold.
SEARCH_QUERY_CHARS = env.int("SEARCH_QUERY_CHARS", default=4000)

# --- analytics and quality runs ---
# Whether searches are recorded, for how many days, and after how many they are anonymised.
SEARCH_EVENTS = env.bool("SEARCH_EVENTS", default=True)
SEARCH_EVENTS_DAYS = max(1, env.int("SEARCH_EVENTS_DAYS", default=180))
SEARCH_EVENTS_ANONYMISE_DAYS = max(1, env.int("SEARCH_EVENTS_ANONYMISE_DAYS", default=30))
# An anonymised question keeps its words if at least this many visitors asked it.
SEARCH_EVENTS_KEEP_WORDS_FROM = max(1, env.int("SEARCH_EVENTS_KEEP_WORDS_FROM", default=3))

# Time (TIME_ZONE) of the nightly quality run over the golden set; empty: never.
NIGHTLY_RUN_AT = env.str("NIGHTLY_RUN_AT", default="03:30")
# A fall of the gate's metric by more than this since the last good run raises an alert.
NIGHTLY_MARGIN = env.float("NIGHTLY_MARGIN", default=0.02)
ALERT_EMAILS = env.list("ALERT_EMAILS", default=[])
ALERT_WEBHOOK_URL = env.str("ALERT_WEBHOOK_URL", default="")
ALERT_TIMEOUT = env.float("ALERT_TIMEOUT", default=10.0)
EMAIL_TIMEOUT = ALERT_TIMEOUT

# --- API ---
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "common.api.access.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    # A view that declares nothing is refused.
    "DEFAULT_PERMISSION_CLASSES": ["common.api.access.ActionPermission"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    # OPTIONS would describe forms to people who may not submit them.
    "DEFAULT_METADATA_CLASS": None,
    "DEFAULT_SCHEMA_CLASS": "common.api.schema.Schema",
    "DEFAULT_THROTTLE_CLASSES": [
        "common.api.access.AnonymousThrottle",
        "common.api.access.UserThrottle",
    ],
    "DEFAULT_THROTTLE_RATES": {
        "anon": env.str("THROTTLE_ANONYMOUS", default="120/min"),
        "user": env.str("THROTTLE_USER", default="1200/min"),
        "login": env.str("THROTTLE_LOGIN", default="10/min"),
    },
    "EXCEPTION_HANDLER": "search.api.parameters.error_response",
    "NUM_PROXIES": env.int("NUM_PROXIES", default=0),
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
REST_KNOX = {
    "TOKEN_TTL": timedelta(days=env.int("API_TOKEN_DAYS", default=90)),
    "AUTH_HEADER_PREFIX": "Token",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Steelyard",
    "DESCRIPTION": "A knowledge base whose search you can weigh. A response contains only what "
    "its reader may see; anything else is treated as if it did not exist.",
    "VERSION": "1",
    "SCHEMA_PATH_PREFIX": r"/api/v1",
    "SERVE_INCLUDE_SCHEMA": False,
    "COMPONENT_SPLIT_REQUEST": True,
    "SORT_OPERATION_PARAMETERS": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "ENUM_NAME_OVERRIDES": {
        "VersionStateEnum": "ingestion.models.State",
        "SpaceStateEnum": "ingestion.models.EmbeddingSpace.State",
        "ProfileStateEnum": "search.models.SearchProfile.State",
        "InteractionKindEnum": "search.analytics.models.Interaction.Kind",
        "RunStateEnum": "search.tuning.models.EvaluationRun.State",
        "RunKindEnum": "search.tuning.models.EvaluationRun.Kind",
        "PublicationStateEnum": "search.tuning.models.Publication.State",
        "NormaliserEnum": "search.models.rules.NORMALISERS",
        "QueryClassEnum": ["lookup", "concept", "code", "debug", "comparison", "general"],
        "OptimisationKindEnum": ["weights", "presets"],
        "ExperimentKindEnum": "search.tuning.models.Experiment.Kind",
        "SignalEnum": ["vector", "keyword", "title", "recency", "synonym"],
    },
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "common.api.schema.add_error_component",
    ],
}
