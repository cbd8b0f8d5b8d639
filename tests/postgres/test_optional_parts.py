"""A site works without the folder of a part; the package of another project adds a part."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import connection
from psycopg import sql

from common import parts
from kbsite.embedded import EmbeddedServers
from kbsite.operations.probes.database import signals
from search.domain import QueryClass, Weights
from search.models import ClassWeights, SearchProfile
from search.tuning import drafts
from tests.support.database import restore_database

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "tests/samples/part"
SHIPPED = ("concepts", "experiments", "qdrant", "reranker", "wordnet")
NOTES = (
    "# Levers\n\nThe lever is balanced by sliding a weight along its beam.",
    "# Scales\n\nThe lever is balanced by sliding a weight along its beam. " + "It is old. " * 40,
)


def table() -> dict[str, str]:
    """The entry points of pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    points: dict[str, str] = project["entry-points"][parts.GROUP]
    return points


def test_a_checkout_has_the_parts_that_the_distribution_names() -> None:
    assert dict(parts.installed()) == table()
    assert tuple(parts.installed()) == SHIPPED


@pytest.fixture
def site(request: pytest.FixtureRequest, servers: EmbeddedServers, tmp_path: Path) -> Any:
    """A function that runs `tests.support.fresh_site` in a folder, on a database of its own.

    Its database is as the tests' migrations left it, or empty where `empty` is true.
    """
    name = f"fresh_{os.getpid()}"
    known = connection.settings_dict
    address = {"user": known["USER"], "host": known["HOST"], "port": known["PORT"]}

    def run(
        folder: Path, *paths: Path, empty: bool = False, weights: Mapping[str, float] = {}
    ) -> dict[str, Any]:
        if empty:
            with closing(psycopg.connect(dbname="postgres", **address, autocommit=True)) as server:
                server.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        else:
            restore_database(name)
        environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "kbsite.settings",
            "DATABASE_URL": f"postgres://{known['USER']}@/{name}?host={known['HOST']}"
            f"&port={known['PORT']}",
            "REDIS_URL": os.environ.get("TEST_REDIS_URL") or f"unix://{servers.redis_socket}",
            "STEELYARD_VAR": str(tmp_path / "var"),
            "SECRET_KEY": "of the fresh site",
            "PYTHONPATH": os.pathsep.join(map(str, (folder, *paths, ROOT))),
        }
        done = subprocess.run(
            [sys.executable, "-m", "tests.support.fresh_site", json.dumps(weights)],
            cwd=folder,
            env=environment,
            input="\f".join(NOTES),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        outcome: dict[str, Any] = json.loads(done.stdout)
        return outcome

    yield run
    with closing(psycopg.connect(dbname="postgres", **address, autocommit=True)) as server:
        server.execute(
            sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
        )


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what a site runs, whose parts may be moved away."""
    copy = tmp_path_factory.mktemp("checkout")
    for package in ("common", "ingestion", "kbsite", "search", "templates", "static", "locale"):
        shutil.copytree(ROOT / package, copy / package)
    shutil.copy(ROOT / "pyproject.toml", copy)
    return copy


@contextmanager
def without(names: Iterable[str], checkout: Path, aside: Path) -> Iterator[None]:
    """The folders of these parts are gone within the block."""
    for name in names:
        shutil.move(checkout / "search/parts" / name, aside / name)
    yield
    for name in names:
        shutil.move(aside / name, checkout / "search/parts" / name)


@pytest.mark.django_db
@pytest.mark.parametrize("gone", [SHIPPED[::2], SHIPPED[1::2]], ids=" ".join)
def test_a_site_without_the_folders_of_some_parts_starts_and_searches(
    gone: tuple[str, ...], site: Any, checkout: Path, tmp_path: Path
) -> None:
    """The tables of the parts stay in its database. That no part imports another one is a contract
    of import-linter: each need not be left out alone.
    """
    with without(gone, checkout, tmp_path):
        searches(site(checkout), [each for each in SHIPPED if each not in gone])


@pytest.mark.django_db
def test_a_new_site_without_any_part_migrates_and_searches(
    site: Any, checkout: Path, tmp_path: Path
) -> None:
    with without(SHIPPED, checkout, tmp_path):
        searches(site(checkout, empty=True), [])


def searches(outcome: dict[str, Any], installed: list[str]) -> None:
    assert outcome["parts"] == installed
    assert outcome["statuses"] == [200, 200]
    titles = [each["document"]["title"] for each in outcome["answer"]["results"]]
    assert sorted(titles) == ["Levers", "Scales"]
    assert outcome["answer"]["degraded"] == []


@pytest.mark.django_db
def test_the_package_of_another_project_adds_a_signal(site: Any, tmp_path: Path) -> None:
    metadata = tmp_path / "steelyard_brevity-1.0.dist-info"
    metadata.mkdir()
    project = tomllib.loads((SAMPLE / "pyproject.toml").read_text())["project"]
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: steelyard-brevity\n")
    ((group, points),) = project["entry-points"].items()
    lines = [f"{name} = {package}" for name, package in points.items()]
    (metadata / "entry_points.txt").write_text("\n".join([f"[{group}]", *lines]))
    weights = {"vector": 0.3, "keyword": 0.3, "title": 0.0, "brevity": 0.4}
    outcome = site(ROOT, SAMPLE, tmp_path, weights=weights)
    assert outcome["parts"] == sorted((*SHIPPED, "brevity"))
    assert outcome["answer"]["weights"]["brevity"] == 0.4
    assert outcome["answer"]["degraded"] == []
    first, second = outcome["answer"]["results"]
    assert [first["document"]["title"], second["document"]["title"]] == ["Levers", "Scales"]
    for result, text in zip((first, second), NOTES, strict=True):
        contributions = result["explanation"]["contributions"]
        (share,) = [each for each in contributions if each["signal"] == "brevity"]
        characters = len(text.removeprefix("# ").strip())
        assert share["raw"] == pytest.approx(100 / (100 + characters))
        assert share["value"] == pytest.approx(0.4 * share["raw"])
    assert "Brevity" in outcome["page"]


@pytest.mark.django_db
def test_the_database_follows_deletions_for_a_part_that_is_left_out() -> None:
    """Django deletes what belongs to a row only by the models that it knows."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT conrelid::regclass::text, confrelid::regclass::text, confdeltype"
            " FROM pg_constraint WHERE contype = 'f' AND conrelid::regclass::text IN"
            " ('ingestion_concept', 'concepts_conceptcount', 'tuning_experiment')"
        )
        actions = {(table, to): action for table, to, action in cursor.fetchall()}
    assert actions == {
        ("concepts_conceptcount", "ingestion_documentversion"): "c",
        ("ingestion_concept", "ingestion_document"): "c",
        ("ingestion_concept", "ingestion_documentversion"): "c",
        ("tuning_experiment", "accounts_user"): "n",
        ("tuning_experiment", "search_searchprofile"): "a",
        ("tuning_experiment", "tuning_evaluationrun"): "n",
    }


@pytest.mark.django_db
class TestGone:
    """The package of a signal was removed; profiles weigh it still."""

    @pytest.fixture(autouse=True)
    def active(self) -> SearchProfile:
        profile = SearchProfile.objects.get(state=SearchProfile.State.ACTIVE)
        none = dict.fromkeys(("title", "recency", "synonym", "concept", "wordnet"), 0)
        profile.class_weights.update(
            **none, vector="0.1", keyword="0.3", others="0.6", added={"gone": "0.6"}
        )
        return profile

    def test_the_other_signals_share_its_weight(self, active: SearchProfile) -> None:
        assert active.as_profile().weights[QueryClass.GENERAL] == Weights(0.25, 0.75, 0)

    def test_keywords_alone_rank_where_it_had_all(self) -> None:
        row = ClassWeights(vector=0, keyword=0, title=0, others=1, added={"gone": "1.0000"})
        assert row.as_weights() == Weights(0, 1, 0)

    def test_the_doctor_names_it(self) -> None:
        assert [each.check for each in signals()] == ["W014"]
        assert [each.text for each in signals() if "“gone”" in each.text]

    def test_a_draft_keeps_it_until_it_has_new_weights(self, active: SearchProfile) -> None:
        draft = drafts.draft_from(active, acting_user=None)
        assert {row.added["gone"] for row in draft.class_weights.all()} == {"0.6"}
        weights = dict.fromkeys(QueryClass, Weights(0.5, 0.5, 0))
        drafts.edit(draft, {}, weights, acting_user=None)
        assert not draft.class_weights.exclude(others=0, added={}).exists()
