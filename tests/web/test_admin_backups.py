"""Who is told how old the last good backup is: the checks, the admin's front page, its list."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.checks import run_checks
from django.urls import reverse

from common.accounts.models import User
from kbsite.backups import ELSEWHERE
from kbsite.backups.keys import Key
from kbsite.backups.models import BackupRun
from tests.support.admin_client import signed_in, staff

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]


@pytest.fixture
def configured(settings: Any, tmp_path: Path) -> Any:
    Key.create(tmp_path / "key")
    settings.BACKUP_URL, settings.BACKUP_KEY_FILE = str(tmp_path), str(tmp_path / "key")
    return settings


def _warnings() -> set[str]:
    found = run_checks(include_deployment_checks=True)
    return {str(each.id) for each in found if str(each.id).startswith("steelyard.W03")}


def test_the_checks_the_front_page_and_health_say_how_old_the_last_one_is(
    settings: Any, configured: Any, administrator: User, tmp_path: Path
) -> None:
    page = reverse("admin:index")
    client = signed_in(administrator)
    assert _warnings() == {"steelyard.W033"}
    assert "No backup has been made yet" in client.get(page).text
    run = BackupRun.objects.create(state="done", place="s3://house", files=2, size=3_000_000)
    assert _warnings() == set()
    assert "the database and 2 originals" in client.get(page).text
    run.started -= timedelta(hours=37)
    run.save()
    assert _warnings() == {"steelyard.W033"}
    assert "sy-error-text" in client.get(page).text.split("Last good backup")[0][-60:]
    assert client.get(reverse("admin:backups_backuprun_changelist")).status_code == 200
    assert client.get(reverse("admin:backups_backuprun_change", args=(run.pk,))).status_code == 200
    (tmp_path / "key").chmod(0o644)
    assert _warnings() == {"steelyard.W032", "steelyard.W033"}
    (tmp_path / "key").unlink()
    assert _warnings() == {"steelyard.W031", "steelyard.W033"}
    settings.BACKUP_URL = ""
    assert _warnings() == {"steelyard.W030"}
    settings.BACKUP_URL = ELSEWHERE
    assert _warnings() == set()
    assert "Last good backup" not in client.get(page).text


def test_only_who_may_see_backups_sees_them(configured: Any) -> None:
    BackupRun.objects.create(state="done", place="s3://house")
    page = reverse("admin:index")
    assert "Last good backup" not in signed_in(staff("clerk", "view_document")).get(page).text
    assert "Last good backup" in signed_in(staff("keeper", "view_backuprun")).get(page).text
