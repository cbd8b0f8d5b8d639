"""Mail, data and source code as people upload them: each is found by what it says."""

from __future__ import annotations

import pytest

from ingestion.models import State
from search.pipeline import search
from tests.samples import builders
from tests.support.factories import make_collection, make_document

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

UPLOADS = {
    "note.eml": (builders.make_eml("Quarterly weighing"), "quarterly weighing", "message/rfc822"),
    "beams.json": (builders.make_json(), "Aachen", "application/json"),
    "log.jsonl": (
        b'{"event": "calibration drift"}\n{"event": "restart"}\n',
        "calibration drift",
        "application/x-ndjson",
    ),
    "shop.xml": (builders.make_xml(), "sku D41 hook", "application/xml"),
    "scales.py": (
        b'def tare_offset(beam):\n    """The empty pan."""\n    return beam.zero\n',
        "tare_offset",
        "text/x-python",
    ),
}


def test_each_format_is_found_by_what_it_says() -> None:
    collection = make_collection()
    documents = {
        name: make_document(collection, content, file_name=name)
        for name, (content, _, _) in UPLOADS.items()
    }
    for name, (_, question, media_type) in UPLOADS.items():
        version = documents[name].latest
        assert version is not None
        assert (version.state, version.media_type) == (State.READY, media_type), version.error
        best = search(question, viewer=None).results[0]
        assert best.title == documents[name].title, name
    assert documents["note.eml"].title == "Quarterly weighing"
    assert documents["scales.py"].title == "scales"
