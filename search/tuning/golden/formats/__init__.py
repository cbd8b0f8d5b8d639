"""File formats of judgements: TREC, BEIR, Quepid's CSV, plain CSV. Pure: bytes <-> rows.

Reading does not stop at a bad line: it becomes a Problem with its number. Documents keep the names
used in the file; `exchange` looks them up.

    tables      JudgementRow and Problem, common to all formats; plain CSV and Quepid's CSV
    archives    TREC and BEIR: two files each, or one ZIP of both
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from search.tuning.golden.formats.archives import read_beir, read_trec, write_beir, write_trec
from search.tuning.golden.formats.tables import (
    FormatError,
    JudgementRow,
    Problem,
    read_csv,
    read_quepid,
    write_csv,
    write_quepid,
)

__all__ = ["FORMATS", "Format", "FormatError", "JudgementRow", "Problem"]


@dataclass(frozen=True, slots=True)
class Format:
    """A file format. `read` takes the file and, for TREC and BEIR, the file of queries."""

    label: str
    read: Callable[[bytes, bytes | None], Iterator[JudgementRow | Problem]]
    write: Callable[[Sequence[JudgementRow]], bytes]
    file_name: str
    media_type: str


FORMATS: Mapping[str, Format] = {
    "csv": Format("Plain CSV", read_csv, write_csv, "judgements.csv", "text/csv"),
    "quepid": Format("Quepid’s CSV", read_quepid, write_quepid, "quepid.csv", "text/csv"),
    "trec": Format("TREC (ZIP)", read_trec, write_trec, "trec.zip", "application/zip"),
    "beir": Format("BEIR (ZIP)", read_beir, write_beir, "beir.zip", "application/zip"),
}
