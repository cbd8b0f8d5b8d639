"""S4-31: the learned classifier is trained, read and put in use in the admin and the API."""

from __future__ import annotations

import pytest
from rest_framework.test import APIClient

from common.accounts.models import User
from search.models import LearnedClassifier
from search.tuning.golden import learning
from search.tuning.models import GoldenQuery
from tests.postgres.test_learned_classifier import LEAK, label
from tests.support.admin_client import form_data, said, signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

PAGE, API = "/admin/search/learnedclassifier/", "/api/v1/learned-classifiers/"


def rule_of(api: APIClient) -> str:
    return str(api.get("/api/v1/search/", {"q": LEAK}).json()["rule"])


def test_the_button_trains_and_the_page_shows_the_figures(
    administrator: User, api: APIClient
) -> None:
    client = signed_in(administrator)
    label(debug=9)
    page = client.get(f"{PAGE}train/").content.decode()
    assert "at least 10 golden queries: debug has 9." in page
    refused = client.post(f"{PAGE}train/", {"threshold": "0.6"})
    assert "at least 10 golden queries: debug has 9." in refused.content.decode()
    assert not LearnedClassifier.objects.exists()

    GoldenQuery.objects.all().delete()
    label()
    data = form_data(client.get(f"{PAGE}train/"), "train_form")
    response = client.post(f"{PAGE}train/", {**data, "threshold": "0.6"})
    row = LearnedClassifier.objects.get()
    assert (row.threshold, row.in_use, row.trained_by) == (0.6, False, administrator)
    assert "Learned classifier v1 was trained; it is not in use yet." in said(response)
    assert "It gives 22 more right classes than the rules alone, of 22 queries." in said(response)

    page = client.get(f"{PAGE}{row.pk}/change/").content.decode()
    for words in ("22 (100%)", "0 (0%)", "11 (50%)", "more right classes", "<strong>11</strong>"):
        assert words in page, words
    assert rule_of(api) == "nothing matched"
    client.post(f"{PAGE}{row.pk}/use/")
    assert rule_of(api).startswith("learned from 22 golden queries: p = 0.")
    assert "In use" in client.get(PAGE).content.decode()
    again = client.post(f"{PAGE}{row.pk}/use/")
    assert "is in use already" in said(again)
    client.post(f"{PAGE}{row.pk}/stop/")
    assert not rule_of(api).startswith("learned")


def test_over_http(administrator: User, api: APIClient) -> None:
    api.force_authenticate(administrator)
    refused = api.post(API, {})
    assert (refused.status_code, refused.json()["code"]) == (400, "profile_error")
    label()
    made = api.post(API, {"threshold": 0.5})
    assert made.status_code == 201, made.json()
    assert made.json()["measures"]["both"] == 22
    assert "model" not in made.json()
    assert api.post(f"{API}1/use/").json()["in_use"] is True
    assert api.post(f"{API}1/use/").status_code == 409
    assert rule_of(api).startswith("learned from 22")
    assert api.post(f"{API}1/stop/").json()["in_use"] is False
    assert api.post(API, {"threshold": 2}).status_code == 400
    assert [row["version"] for row in api.get(API).json()["results"]] == [1]


def test_the_verdict_counts_one_and_many() -> None:
    assert "1 more right class than" in learning.verdict({"both": 3, "rules": 2, "queries": 4})
    assert "leave it out of use" in learning.verdict({"both": 2, "rules": 2, "queries": 4})
