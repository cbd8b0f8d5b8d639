"""How many examples a law is tried on: by Hypothesis' profile, `ci` unless another is named."""

from __future__ import annotations

import os

from hypothesis import settings

_USUAL = 100


def load_profiles() -> None:
    """Register the profiles and load the one that HYPOTHESIS_PROFILE names.

    `--hypothesis-profile` comes later and wins. How long an example takes is the machine's
    affair, and not what a test is about.
    """
    settings.register_profile("ci", max_examples=40, deadline=None, print_blob=True)
    settings.register_profile("nightly", max_examples=1_000, deadline=None, print_blob=True)
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def examples(number: int) -> int:
    """So many examples where others have a hundred, scaled as the profile scales those."""
    profile = settings.get_profile(settings.get_current_profile_name())
    return max(10, number * profile.max_examples // _USUAL)
