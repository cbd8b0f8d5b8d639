"""An upload of each further format goes the whole way: stored, parsed, searchable, cited."""

from __future__ import annotations

import pytest

from ingestion.errors import TypeMismatch
from ingestion.models import Chunk, Document, State
from search.pipeline import search
from tests.samples.sheets_and_slides import make_notebook, make_odp, make_ods, make_pptx, make_xlsx
from tests.support.factories import make_collection, make_document, upload

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

# Long enough for the second slide to begin a chunk of its own.
LONG = "Small marsupials with round ears and short tails. " * 60
DECK = [("Quokkas", LONG, ""), ("Habitat", "They live on Rottnest Island.", "")]
NOTE = {"cell_type": "markdown", "source": "# Quokkas\n\nThey live on Rottnest Island."}
SHEET = {"A1": "Animal", "B1": "Home", "A2": "Quokka", "B2": "Rottnest Island"}


@pytest.mark.parametrize(
    ("content", "name", "page"),
    [
        (make_xlsx({"Animals": SHEET}), "animals.xlsx", None),
        (make_ods([("Animal", "Home"), ("Quokka", "Rottnest Island")]), "animals.ods", None),
        (make_pptx(DECK), "animals.pptx", 2),
        (make_odp(DECK), "animals.odp", 2),
        (make_notebook([NOTE]), "animals.ipynb", None),
    ],
    ids=["xlsx", "ods", "pptx", "odp", "ipynb"],
)
def test_an_upload_is_found(content: bytes, name: str, page: int | None) -> None:
    document = make_document(make_collection(), content, file_name=name)
    assert document.latest is not None
    assert (document.latest.state, document.latest.error) == (State.READY, "")

    found = search("Rottnest Island", viewer=None).results

    assert [result.title for result in found] == [document.title]
    chunk = Chunk.objects.get(version=document.current, text__contains="Rottnest")
    assert chunk.page == page


def test_a_workbook_under_a_false_name_is_turned_away_with_advice() -> None:
    with pytest.raises(TypeMismatch, match=r"Rename it to end in \.xlsx"):
        upload(make_collection(), make_xlsx(), file_name="animals.docx")
    assert not Document.objects.exists()
