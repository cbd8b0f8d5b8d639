"""Parameters of the API, made once, that keep nothing of a request; parameters that were read."""

from __future__ import annotations

from typing import Any

import pytest
from django.http import QueryDict
from rest_framework import serializers

from common.api.serializers import Parameters
from search.api.parameters import SearchParameters


class Given(Parameters):
    name = serializers.CharField(max_length=3)
    places = serializers.ListField(child=serializers.IntegerField(), required=False)


def errors(form: Parameters) -> dict[str, Any]:
    with pytest.raises(serializers.ValidationError) as raised:
        form.is_valid(raise_exception=True)
    detail: Any = raised.value.detail
    return {name: [str(each) for each in texts] for name, texts in detail.items()}


def test_requests_share_serializer_fields_only() -> None:
    first = SearchParameters(data=QueryDict("q=tides&page=2&collection=a&collection=b"))
    second = SearchParameters(data=QueryDict("q=winds&exact=1"))
    assert first.is_valid()
    assert second.is_valid()
    assert first.fields["q"] is second.fields["q"]
    assert (first.validated_data["q"], second.validated_data["q"]) == ("tides", "winds")
    assert first.filters.collections == ("a", "b")
    assert second.filters.collections == ()
    assert (first.validated_data["page"], second.validated_data["page"]) == (2, 1)
    assert (first.choices.exact, second.choices.exact) == (False, True)


def test_errors_belong_to_their_own_request() -> None:
    wrong = Given(data={"name": "tides", "places": ["x"]})
    assert set(errors(wrong)) == {"name", "places"}
    assert Given(data={"name": "sea"}).is_valid()
    assert set(errors(Given(data={"name": "sea", "nme": ""}))) == {"nme"}
