"""Generated registers: documents of small sections, each named by an identifier of one kind.

All sections of one fit one passage, so that search must tell the record that was asked for from its
neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

KINDS: Mapping[str, tuple[str, str, str, str]] = MappingProxyType(
    {
        "incidents": ("INC-0117", "INC-0118", "INC-0119", "INC-0120"),
        "personal data": ("PII-2024-0041", "PII-2024-0042", "PII-2024-0043", "INC-2024-0042"),
        "vulnerabilities": (
            "CVE-2024-3094", "CVE-2024-3095", "CVE-2024-3096", "CVE-2024-3097",
        ),
        "errors": ("E1001", "E1002", "E1003", "E1004"),
        "database errors": ("ORA-00942", "ORA-00943", "ORA-01555", "ORA-01556"),
        "standards": ("ISO 27001", "ISO 27002", "ISO 27017", "ISO 27018"),
        "requests for comments": ("RFC 2119", "RFC 2616", "RFC 2617", "RFC 7231"),
        "releases": ("Release 2.10.1", "Release 2.10.2", "Release 2.10.3", "Release 2.11.0"),
        "builds": ("4.18.0.1", "4.18.0.2", "4.18.0.20", "4.18.1.2"),
        "regulations": ("30 CFR 75.1722", "30 CFR 75.1725", "30 CFR 75.1726", "30 CFR 75.380"),
        "sections": ("§ 12.3", "§ 12.4", "§ 12.5", "§ 12.6"),
        "paragraphs": ("§ 13b UStG", "§ 14 UStG", "§ 14a UStG", "§ 14b UStG"),
        "parts": ("A-1312/A", "A-1312/B", "A-1312/C", "A-1313/B"),
        "stock numbers": ("4711-0815", "4711-0816", "4712-0815", "4712-0816"),
        "tickets": ("OPS-1", "OPS-2", "OPS-10", "OPS-11"),
        "regions": ("Region D40", "Region D41", "Region D42", "Region E40"),
        "functions": ("open_valve()", "close_valve()", "vent_valve()", "seal_valve()"),
        "methods": ("pump::Rotor::open", "pump::Valve::open", "pump::Valve::shut", "pump::Seal::x"),
        "settings": ("PUMP_MAX_AGE", "PUMP_MAX_SIZE", "PUMP_MIN_AGE", "PUMP_MIN_SIZE"),
        "forms": ("Form W-2", "Form W-4", "Form W-8", "Form W-9"),
        "numbered forms": ("Form 1040", "Form 1041", "Form 1065", "Form 1120"),
        "articles": ("Article 3", "Article 4", "Article 10", "Article 14"),
        "annexes": ("Annex A", "Annex B", "Annex C", "Annex E"),
        "rooms": ("Room B1.01", "Room B1.02", "Room B1.10", "Room C1.01"),
        "requirements": ("REQ-SYS-1", "REQ-SYS-2", "REQ-SYS-10", "REQ-APP-1"),
        "status codes": ("0x80070005", "0x80070006", "0x80070057", "0x8007000E"),
        "files": ("valve_open.yaml", "valve_shut.yaml", "rotor_open.yaml", "rotor_shut.yaml"),
    }
)  # fmt: skip
RECORDS = (
    "A pump failed in the cold store.",
    "The western gate stood open.",
    "A ladder broke under a painter.",
    "The clock of the tower ran late.",
)


def register(kind: str) -> str:
    """The register of this kind as Markdown."""
    records = "\n\n".join(f"## {name}\n\n{text}" for name, text in records_of(kind))
    return f"# Register of {kind}\n\n{records}\n"


def records_of(kind: str) -> Iterator[tuple[str, str]]:
    """Each name of a register, and its record."""
    return zip(KINDS[kind], RECORDS, strict=True)
