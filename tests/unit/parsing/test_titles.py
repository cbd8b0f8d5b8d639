"""S2-12: a title out of a file name."""

from __future__ import annotations

import pytest

from ingestion.parsing.protocol import title_from_file_name, with_file_name


@pytest.mark.parametrize(
    ("file_name", "title"),
    [
        (
            "Distributed Systems for practitioners -- Author.pdf",
            "Distributed Systems for practitioners",
        ),
        ("/srv/books/Understanding_Distributed_Systems.epub", "Understanding Distributed Systems"),
        ("C:\\books\\Beam_and_hook -- A. Weigher -- 2nd ed -- 9f3a.docx", "Beam and hook"),
        ("Beam_--_Author.pdf", "Beam"),
        ("release 2.0", "release 2.0"),
        ("release-2.0.markdown", "release-2.0"),
        ("well-known -- parts.pdf", "well-known"),
        ("a--b.txt", "a--b"),
        ("REPORT.PDF", "REPORT"),
        (" -- Author.pdf", "Author"),
        ("___.pdf", "___.pdf"),
        (".pdf", ".pdf"),
        ("", "Untitled"),
        ("/", "Untitled"),
        ("weiß_Ω -- Autorin.txt", "weiß Ω"),
    ],
)
def test_title(file_name: str, title: str) -> None:
    assert title_from_file_name(file_name) == title


@pytest.mark.parametrize(
    ("title", "file_name", "named"),
    [
        ("Annual report", "2024_finance-v2.pdf", "Annual report 2024 finance v2"),
        ("Annual report", "annual-report.pdf", "Annual report"),
        ("Beam", "Beam -- A. Weigher.docx", "Beam A Weigher"),
        ("", "notes.tar.gz", "notes tar"),
        ("Plan", "", "Plan"),
        ("Plan", "folder/other/plan_b.md", "Plan b"),
    ],
)
def test_a_document_is_found_by_its_files_name_too(title: str, file_name: str, named: str) -> None:
    assert with_file_name(title, file_name) == named
