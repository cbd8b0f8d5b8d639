"""What the workbench previews is what publishing ranks."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pytest import approx

from search.domain import Fusion, QueryClass, Weights
from search.pipeline import search
from search.tuning import activation as activation
from search.tuning import drafts, judging
from search.tuning.evaluation.golden_set import golden_set
from search.tuning.models import ProfileChange
from search.tuning.workbench_preview import preview
from tests.support.admin_client import staff
from tests.support.golden_library import active_profile
from tests.support.library import fill_library

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]


def test_a_preview_is_what_publishing_gives() -> None:
    """For every golden query."""
    library = fill_library()
    viewer = staff("viewer", "view_searchprofile")
    for text, document in (
        ("barometer", library.logbook),
        ("connection timeouts", library.connections),
        ("D40", library.regions),
    ):
        judging.judge(text, [], document, 3, acting_user=viewer)
    settings = {"fusion": "rrf", "depth": 40}
    weights = dict.fromkeys(QueryClass, Weights(0, 1, 0))
    active = active_profile()
    changed = replace(active.as_profile(), fusion=Fusion.RRF, depth=40, weights=weights)
    previews = {
        golden.text: preview(golden.text, active.as_profile(), changed, viewer=viewer)
        for golden in golden_set()
    }
    assert len(previews) == 3
    draft = drafts.edit(active, settings, weights, acting_user=viewer).profile
    activation.activate(draft, action=ProfileChange.Action.PUBLISHED, acting_user=viewer)
    for text, previewed in previews.items():
        live = search(text, viewer=viewer)
        assert live.profile.version == draft.version
        ranked = [(row.result.document_id, row.result.hit.score) for row in previewed.draft.places]
        assert ranked == [(result.document_id, approx(result.hit.score)) for result in live.results]
