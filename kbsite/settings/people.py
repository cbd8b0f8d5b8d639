"""Signing in: guessed passwords."""

from __future__ import annotations

from datetime import timedelta

from kbsite.settings.environment import env

# Hashes wait their turn, or searchers would: see common/accounts/hashing.py. The others read
# hashes of earlier settings.
PASSWORD_HASHERS = [
    "common.accounts.hashing.QueuedPasswordHasher",
    "django.contrib.auth.hashers.PBKDF2SHA1PasswordHasher",
    "django.contrib.auth.hashers.Argon2PasswordHasher",
    "django.contrib.auth.hashers.BCryptSHA256PasswordHasher",
    "django.contrib.auth.hashers.ScryptPasswordHasher",
]
AUTHENTICATION_BACKENDS = [
    "common.accounts.guard.GuardedBackend",
    "django.contrib.auth.backends.ModelBackend",
]

# --- guessed passwords ---
# After this many wrong passwords in a row, of one network address or for one user name, no
# password of it is checked for this many minutes.
SIGN_IN_FAILURES = max(1, env.int("SIGN_IN_FAILURES", default=10))
SIGN_IN_LOCK_MINUTES = max(1, env.int("SIGN_IN_LOCK_MINUTES", default=15))
AXES_FAILURE_LIMIT = SIGN_IN_FAILURES
AXES_COOLOFF_TIME = timedelta(minutes=SIGN_IN_LOCK_MINUTES)
AXES_HANDLER = "common.accounts.guard.LockingHandler"
AXES_LOCKOUT_PARAMETERS = ["ip_address", "username"]
# NUM_PROXIES counts the proxies, as for throttling: without it all users share the proxy's address.
AXES_CLIENT_IP_CALLABLE = "common.accounts.guard.counted_address"
AXES_USERNAME_CALLABLE = "common.accounts.guard.counted_name"
AXES_LOCKOUT_CALLABLE = "kbsite.sign_in.refusals.locked"
AXES_RESET_ON_SUCCESS = True
# Attempts during a lock do not prolong it, and the time that a refusal states is right.
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_ENABLE_ADMIN = False
AXES_VERBOSE = False
