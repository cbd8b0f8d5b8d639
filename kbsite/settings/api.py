"""Settings of the HTTP API: REST framework, its rate limits, tokens, schema."""

from __future__ import annotations

from datetime import timedelta

from kbsite.settings.environment import VERSION, entries, env

# Requests of visitors (by address) and of users; questions to be answered and texts to be embedded
# of both; attempts to sign in for a token, by address; suggestions of both, 0/min for none at all.
_rates = entries(
    "THROTTLE",
    {
        "anonymous": "120/min",
        "user": "1200/min",
        "answers_anonymous": "30/min",
        "answers_user": "120/min",
        "login": "10/min",
        "suggestions": "600/min",
    },
)
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "common.api.access.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    # A view that declares nothing is refused.
    "DEFAULT_PERMISSION_CLASSES": ["common.api.access.ActionPermission"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["common.api.serializers.ObjectJSONParser"],
    # The media type follows from the header `Accept` alone.
    "URL_FORMAT_OVERRIDE": None,
    # OPTIONS would describe forms to people who may not submit them.
    "DEFAULT_METADATA_CLASS": None,
    "DEFAULT_SCHEMA_CLASS": "common.api.schema.Schema",
    "DEFAULT_THROTTLE_CLASSES": [
        "common.api.throttles.AnonymousThrottle",
        "common.api.throttles.UserThrottle",
    ],
    "DEFAULT_THROTTLE_RATES": {**_rates, "anon": _rates["anonymous"]},
    "EXCEPTION_HANDLER": "search.api.parameters.error_response",
    "NUM_PROXIES": env.int("NUM_PROXIES", default=0),
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
# Sites whose pages may ask with a token or as visitors, never with a session: search and answers.
CORS_ALLOWED_ORIGINS = env.list("CORS_ORIGINS", default=[])
CORS_URLS_REGEX = r"^/(api/v1|v1)/"
CORS_ALLOW_METHODS = ("GET", "HEAD", "OPTIONS", "POST")
CORS_EXPOSE_HEADERS = (
    "Deprecation", "ETag", "Idempotent-Replayed", "Link", "Location", "Retry-After",
    "WWW-Authenticate",
)  # fmt: skip
_token_days = timedelta(days=env.int("API_TOKEN_DAYS", default=90))
REST_KNOX = {"TOKEN_TTL": _token_days, "AUTH_HEADER_PREFIX": "Token"}
IDP_OIDC_REFRESH_TOKEN_EXPIRES_IN = round(_token_days.total_seconds())
# The scope that a token needs for what requires a permission; the first pattern that fits counts,
# and what none fits needs the scope "administer".
API_TOKEN_SCOPES = (
    ("ingestion.view_*", "read"),
    ("ingestion.*_document", "upload"),
    ("ingestion.*_documentversion", "upload"),
    ("ingestion.*_chunkedit", "upload"),
    ("ingestion.*_import", "upload"),
    ("search.*", "tune"),
    ("tuning.*", "tune"),
    ("analytics.*", "tune"),
    ("answers.*", "tune"),
)
SPECTACULAR_SETTINGS = {
    "TITLE": "Steelyard",
    "DESCRIPTION": "A knowledge base whose search you can weigh. A response contains only what "
    "its reader may see; anything else is treated as if it did not exist.",
    "VERSION": VERSION,
    "SCHEMA_PATH_PREFIX": r"/api/v1",
    "TAGS": [{"name": "search"}],  # the documentation begins with it
    "SERVE_INCLUDE_SCHEMA": False,
    "COMPONENT_SPLIT_REQUEST": True,
    "SORT_OPERATION_PARAMETERS": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "ENUM_NAME_OVERRIDES": {
        "TokenScopeEnum": "common.accounts.models.Scope",
        "VersionStateEnum": "ingestion.models.State",
        "ProfileStateEnum": "search.models.SearchProfile.State",
        "InteractionKindEnum": "search.analytics.models.Interaction.Kind",
        "RunStateEnum": "search.tuning.models.EvaluationRun.State",
        "PublicationStateEnum": "search.tuning.models.Publication.State",
        "ScoreNormaliserEnum": "search.models.rules.NORMALISERS",
        "QueryClassEnum": ["lookup", "concept", "code", "debug", "comparison", "general"],
        "AnswerModeEnum": ["instant", "auto", "thinking"],
        "AnswerStateEnum": ["running", "done", "refused", "stopped", "failed"],
        "SignalEnum": "search.domain.Signal",
    },
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "common.api.schema.complete",
    ],
}
