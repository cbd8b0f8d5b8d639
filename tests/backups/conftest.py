"""A small site with originals, a folder for its snapshot, and an empty database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.files.storage import FileSystemStorage
from django.db import connection
from psycopg.conninfo import make_conninfo

from ingestion.models import Collection
from kbsite.operations import dumps
from tests.support.factories import make_collection, upload


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "backups"


@pytest.fixture
def files(tmp_path: Path, settings: Any) -> Path:
    """The originals of this test alone."""
    settings.MEDIA_ROOT = tmp_path / "files"
    return tmp_path / "files"


@pytest.fixture
def library(transactional_db: None, clean_cache: None, files: Path) -> Collection:
    """Three documents that wait for a worker: rows and originals, committed."""
    collection = make_collection()
    for name in ("one", "two", "three"):
        upload(collection, f"# {name}\n\nThe {name} pump.".encode(), file_name=f"{name}.md")
    return collection


@pytest.fixture
def empty(transactional_db: None) -> Iterator[dict[str, Any]]:
    """libpq's parameters of an empty database on the same server."""
    name = f"{connection.settings_dict['NAME']}_restored"
    with connection.cursor() as cursor:
        cursor.execute(f'DROP DATABASE IF EXISTS "{name}"')
        cursor.execute(f'CREATE DATABASE "{name}" TEMPLATE template0')
    yield dumps.parameters() | {"dbname": name}
    with connection.cursor() as cursor:
        cursor.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture
def elsewhere(tmp_path: Path) -> FileSystemStorage:
    """An empty storage for originals."""
    return FileSystemStorage(tmp_path / "elsewhere")


def rows(where: dict[str, Any]) -> dict[str, list[str]]:
    """Every row of every table of a database as JSON, sorted, by table."""
    with psycopg.connect(make_conninfo(**where)) as reading:
        tables = reading.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        return {
            table: [text for (text,) in reading.execute(
                f'SELECT to_jsonb(t)::text FROM "{table}" t ORDER BY 1')]
            for (table,) in tables.fetchall()
        }  # fmt: skip


def contents(folder: Path) -> dict[str, bytes]:
    """Every file under a folder by its path."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*") if path.is_file()
    }  # fmt: skip
