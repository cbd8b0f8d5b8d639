"""The number of examples for property tests: by Hypothesis' profile, `ci` by default."""

from __future__ import annotations

import os

from hypothesis import settings

_USUAL = 100


def load_profiles() -> None:
    """Register the profiles and load the one that HYPOTHESIS_PROFILE names.

    `--hypothesis-profile` comes later and wins. There is no deadline: the time per example depends
    on the machine and is not under test.
    """
    settings.register_profile("ci", max_examples=25, deadline=None, print_blob=True)
    settings.register_profile("nightly", max_examples=1_000, deadline=None, print_blob=True)
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def examples(number: int) -> int:
    """The number of examples where the default is a hundred, scaled as the profile scales that."""
    profile = settings.get_profile(settings.get_current_profile_name())
    return max(10, number * profile.max_examples // _USUAL)
