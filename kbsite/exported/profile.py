"""The profile that a collection's searches use, as a file, and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core import serializers
from django.db import transaction
from django.db.models import Max

from ingestion.models import Collection
from search.models import ClassWeights, ScopeProfile, SearchProfile
from search.models.profiles import in_force_first
from search.tuning.models import ProfileChange
from search.tuning.publishing.activation import activate

# What belongs to a site's history rather than to the ranking.
_HISTORY = ("version", "state", "based_on", "created", "published", "profile")


def write_profile(collection: Collection, path: Path) -> str:
    """Write the profile of searches in the collection; return its name."""
    profile = _profile_of(collection)
    weights = profile.class_weights.order_by("query_class")
    data = {"profile": _fields(profile), "weights": [_fields(row) for row in weights]}
    path.write_text(json.dumps(data, indent=1))
    return str(profile)


@transaction.atomic
def restore_profile(path: Path) -> SearchProfile:
    """Create the profile of the file and make it the active one."""
    data = json.loads(path.read_text())
    name = data["profile"]["name"]
    last = SearchProfile.objects.filter(name=name).aggregate(last=Max("version"))["last"] or 0
    profile = SearchProfile(**data["profile"], version=last + 1)
    profile.save()
    for row in data["weights"]:
        ClassWeights.objects.create(profile=profile, **row)
    return activate(
        profile,
        action=ProfileChange.Action.PUBLISHED,
        acting_user=None,
        reason="Restored from an exported server.",
    )


def _profile_of(collection: Collection) -> SearchProfile:
    own = ScopeProfile.objects.filter(collection=collection).first()
    if own is not None:
        named = SearchProfile.objects.filter(name=own.profile).exclude(published=None)
        found = named.order_by(*in_force_first()).first()
        if found is not None:
            return found
    return SearchProfile.objects.get(state=SearchProfile.State.ACTIVE)


def _fields(row: SearchProfile | ClassWeights) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads(serializers.serialize("json", [row]))[0]["fields"]
    return {name: value for name, value in fields.items() if name not in _HISTORY}
