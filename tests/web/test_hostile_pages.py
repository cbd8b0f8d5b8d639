"""Scripts and event handlers of uploaded pages never reach a page of ours, nor do file names."""

from __future__ import annotations

import pytest
from django.test import Client

from common.accounts.models import User
from ingestion.models import State
from tests.support.admin_client import signed_in
from tests.support.factories import make_collection, make_document

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]


def test_scripts_never_reach_a_page(administrator: User) -> None:
    page = (
        "<!doctype html><title><script>alert(1)</script></title>"
        "<h1 onclick=alert(2)>Beam <img src=x onerror=alert(3)></h1><script>alert(4)</script>"
        "<p>The long arm &lt;script&gt;alert(5)&lt;/script&gt; <a href='javascript:alert(6)'>on"
        "</a><svg onload=alert(7)></svg><iframe srcdoc='<script>alert(8)</script>'></iframe></p>"
    )
    document = make_document(
        make_collection(), page, file_name='<img src=x onerror="alert(9)">.html'
    )
    assert document.latest is not None
    assert document.latest.state == State.READY, document.latest.error
    admin = f"/admin/ingestion/document/{document.pk}/change/"
    urls = {document.get_absolute_url(): Client(), "/?q=long+arm": Client()}
    for url, client in (urls | {admin: signed_in(administrator)}).items():
        shown = client.get(url).content.decode()
        assert "long" in shown or url == admin
        for hostile_text in ("<script>alert", "onerror=alert", "onclick=", "onload=", "<iframe"):
            assert hostile_text not in shown
        assert "javascript:alert" not in shown
        assert 'onerror="alert(9)"' not in shown
