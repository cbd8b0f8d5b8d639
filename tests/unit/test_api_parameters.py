"""Parameters of the API, made once, that keep nothing of a request; parameters that were read."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pytest
from django.http import QueryDict
from rest_framework import serializers

from common.api.serializers import BooleanField, ObjectJSONParser, Parameters
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
    first = SearchParameters(data=QueryDict("query=tides&page=2&collection=a&collection=b"))
    second = SearchParameters(data=QueryDict("query=winds&exact=1"))
    assert first.is_valid()
    assert second.is_valid()
    assert first.fields["query"] is second.fields["query"]
    assert (first.validated_data["query"], second.validated_data["query"]) == ("tides", "winds")
    assert first.filters.collections == ("a", "b")
    assert second.filters.collections == ()
    assert (first.validated_data["page"], second.validated_data["page"]) == (2, 1)
    assert (first.choices.exact, second.choices.exact) == (False, True)


def test_errors_belong_to_their_own_request() -> None:
    wrong = Given(data={"name": "tides", "places": ["x"]})
    assert set(errors(wrong)) == {"name", "places"}
    assert Given(data={"name": "sea"}).is_valid()
    assert set(errors(Given(data={"name": "sea", "nme": ""}))) == {"nme"}


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("name=sea&name=sky", {"name"}),
        ("name=", {"name"}),
        ("name=sea&places=1&places=2&format=json", {"format"}),
        ("name=sea&csrfmiddlewaretoken=x", {"csrfmiddlewaretoken"}),
    ],
)
def test_what_stands_twice_or_empty_or_is_unknown_is_refused(query: str, names: set[str]) -> None:
    assert set(errors(Given(data=QueryDict(query)))) == names


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    (text,) = errors(Given(data=QueryDict("nme=sea")))["nme"]
    assert text == "There is no such field. Did you mean name? Known are: name, places."


@pytest.mark.parametrize("value", ["true", "1", "True", True, 1])
def test_true_is_written_in_few_ways(value: Any) -> None:
    assert BooleanField().run_validation(value) is True


@pytest.mark.parametrize("value", ["yes", "on", "t", "2", "", None, 2, []])
def test_other_words_are_neither_true_nor_false(value: Any) -> None:
    with pytest.raises(serializers.ValidationError):
        BooleanField().run_validation(value)


@pytest.mark.parametrize("body", ['{"a": 1, "a": 2}', '{"b": [{"a": 1, "a": 1}]}'])
def test_a_name_that_stands_twice_in_json_is_refused(body: str) -> None:
    with pytest.raises(serializers.ValidationError) as raised:
        ObjectJSONParser().parse(BytesIO(body.encode()))
    assert raised.value.detail == {"a": ["Give it once."]}
