"""Settings of signing in: guessed passwords, quotas, second factors, sign-on, OAuth."""

from __future__ import annotations

from datetime import timedelta

from kbsite.settings.environment import entries, env
from kbsite.settings.site import HTTPS

AUTHENTICATION_BACKENDS = [
    "common.accounts.guard.GuardedBackend",
    "django.contrib.auth.backends.ModelBackend",
]

# --- guessed passwords ---
# After this many wrong passwords in a row, of one network address or for one user name, no
# password of it is checked for this many minutes.
SIGN_IN_FAILURES = max(1, env.int("SIGN_IN_FAILURES", default=10))
AXES_FAILURE_LIMIT = SIGN_IN_FAILURES
AXES_COOLOFF_TIME = timedelta(minutes=15)  # a guess
AXES_HANDLER = "common.accounts.guard.LockingHandler"
AXES_LOCKOUT_PARAMETERS = "common.accounts.guard.counted_by"
# NUM_PROXIES counts the proxies, as for throttling: without it all users share the proxy's address.
AXES_CLIENT_IP_CALLABLE = "common.accounts.guard.counted_address"
AXES_USERNAME_CALLABLE = "common.accounts.guard.counted_name"
AXES_LOCKOUT_CALLABLE = "kbsite.sign_in.locked"
AXES_RESET_ON_SUCCESS = True
# Attempts during a lock do not prolong it, and the time that a refusal states is right.
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_ENABLE_ADMIN = False
AXES_VERBOSE = False

# --- quotas, a day; 0: unlimited ---


def _quotas(entered: dict[str, int]) -> dict[str, int]:
    """The quotas by the names of common/accounts/tokens.py, sizes in bytes."""
    upload, download = (entered.pop(f"{name}_mb") * 1024 * 1024 for name in ("upload", "download"))
    return {**entered, "bytes": upload, "downloaded": download}


_unlimited = dict.fromkeys(("searches", "answers", "uploads", "upload_mb", "download_mb"), 0)
QUOTAS_USER = _quotas(entries("QUOTA_USER", _unlimited))
QUOTAS_TOKEN = _quotas(entries("QUOTA_TOKEN", _unlimited))
# The days that events of the audit trail are kept.
AUDIT_DAYS = max(1, env.int("AUDIT_DAYS", default=365))

# --- second factors: one-time codes and passkeys ---
# Staff without a second factor get no further than the page where they add one: off, password
# (those who sign in by password; the sign-on asks the others) or all.
STAFF_SECOND_FACTOR = env.str("STAFF_SECOND_FACTOR", default="off")
MFA_ADAPTER = "kbsite.sign_in.SecondFactorAdapter"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_TOTP_ISSUER = "Steelyard"
MFA_TOTP_TOLERANCE = 1  # a code of the half minute before and after: clocks differ
MFA_ALLOW_UNVERIFIED_EMAIL = True  # the site verifies none
# Browsers offer passkeys to https and to localhost alone; the latter needs this.
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = not HTTPS

# --- sign-on: OpenID Connect ---
OIDC_SERVER = env.str("OIDC_SERVER", default="")
OIDC_CLIENT_ID = env.str("OIDC_CLIENT_ID", default="")
OIDC_CLIENT_SECRET = env.str("OIDC_CLIENT_SECRET", default="")
OIDC_NAME = env.str("OIDC_NAME", default="Single sign-on")
OIDC_SCOPES = env.list("OIDC_SCOPES", default=["openid", "profile", "email"])
# Who gets an account at the first sign-on: closed (nobody), mapped (who is in a group of
# SSO_GROUPS) or open (everybody whom the provider lets in).
SSO_SIGN_UP = env.str("SSO_SIGN_UP", default="closed")
# Whether an e-mail address finds the account that has it: 0 (no), 1 (if the provider has verified
# it) or all (also where the provider does not say so).
SSO_LINKS_BY_EMAIL = env.str("SSO_LINKS_BY_EMAIL", default="0")
# Groups by what the provider claims, as JSON: {"claim": {"value": "group"}}.
SSO_GROUPS = env.json("SSO_GROUPS", default={})
# The claims are asked for again this often, where the provider allows it; and the hours that a
# session, and what the claims opened, last without an answer.
SSO_REFRESH_MINUTES = 15  # a guess
SSO_HOURS = max(1, env.int("SSO_HOURS", default=12))

_provider = {
    "provider_id": "sso",
    "name": OIDC_NAME,
    "client_id": OIDC_CLIENT_ID,
    "secret": OIDC_CLIENT_SECRET,
    "settings": {
        "server_url": OIDC_SERVER,
        "scope": OIDC_SCOPES,
        "oauth_pkce_enabled": True,
        **({"verified_email": True} if SSO_LINKS_BY_EMAIL == "all" else {}),
    },
}
SOCIALACCOUNT_PROVIDERS = {
    "openid_connect": {"OAUTH_PKCE_ENABLED": True, "APPS": [_provider] if OIDC_SERVER else []}
}

ACCOUNT_ADAPTER = "kbsite.sign_in.AccountAdapter"
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "password1*"]
SOCIALACCOUNT_ADAPTER = "kbsite.sign_in.SignOnAdapter"
SOCIALACCOUNT_EMAIL_AUTHENTICATION = SSO_LINKS_BY_EMAIL in {"1", "all"}
SOCIALACCOUNT_EMAIL_AUTHENTICATION_AUTO_CONNECT = True
SOCIALACCOUNT_REAUTHENTICATION_REQUIRED = True

# --- OAuth: apps that people let in (docs/agents.md) ---
# Which apps may ask: off (none), clients (those that administrators entered), documents (and those
# whose id is the address of their description), registration (and all that register themselves).
OAUTH = env.str("OAUTH", default="off")
IDP_OIDC_ADAPTER = "kbsite.oauth.Adapter"
IDP_OIDC_DCR_REQUIRES_INITIAL_ACCESS_TOKEN = False
# By network address; many apps register from the few addresses of their makers. Guesses.
IDP_OIDC_RATE_LIMITS = {"client_registration": "3/m/ip,60/d/ip", "cimd_fetch": "6/m/ip"}
