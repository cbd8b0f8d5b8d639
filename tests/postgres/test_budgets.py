"""Budgets of answers: what a call costs, who pays, and nobody beyond the limit."""

from __future__ import annotations

import uuid
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal
from threading import Barrier
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import connection
from django.db.models import Sum
from django.test import RequestFactory
from django.utils import timezone

from common.accounts.models import User
from search.answers import budgets
from search.answers.budgets import Payer, Spent, budget_key
from search.answers.domain import Usage
from search.answers.models import Answer, AnswerLimits, ModelCall, ModelPrice
from search.errors import BudgetExceeded

# A token of the prompt costs 1, one of the answer 2.
PRICED = "priced"


@pytest.fixture
def prices(db: None) -> None:
    ModelPrice.objects.create(
        model=PRICED, input_per_million=Decimal(1_000), output_per_million=Decimal(2_000)
    )


def limit(**limits: Any) -> None:
    AnswerLimits.objects.update_or_create(pk=1, defaults=limits)


def reserve(payer: Payer | None = None, *, prompt: int = 100, most: int = 50) -> int:
    """A call that is reserved at .2 by default."""
    return budgets.reserve(
        payer or Payer(), purpose="answer", model=PRICED, prompt=prompt, most=most
    )


def settle(call: int, prompt: int, completion: int, error: str = "") -> Usage:
    return budgets.settle(call, Spent(Usage(prompt, completion), 12.5, 3.0, error))


@pytest.mark.usefixtures("prices")
class TestACall:
    def test_call_is_reserved_at_its_highest_cost_and_settled_at_its_usage(self) -> None:
        call = reserve()
        row = ModelCall.objects.get(pk=call)
        assert (row.cost, row.settled, row.estimated) == (Decimal("0.2"), False, True)

        usage = settle(call, 80, 10)

        assert usage == Usage(80, 10, 0.1)
        row.refresh_from_db()
        assert (row.cost, row.settled, row.estimated) == (Decimal("0.1"), True, False)
        assert (row.milliseconds, row.first_token_ms) == (12.5, 3.0)

    def test_call_is_settled_once(self) -> None:
        call = reserve()
        settle(call, 80, 10)
        settle(call, 800, 100)
        assert ModelCall.objects.get().cost == Decimal("0.1")

    def test_a_model_without_a_price_costs_nothing(self) -> None:
        call = budgets.reserve(Payer(), purpose="answer", model="local", prompt=9, most=9)
        assert settle(call, 9, 9).cost == 0

    def test_a_server_may_state_any_number(self) -> None:
        assert settle(reserve(), 10**18, -5).completion_tokens == 0

    def test_lost_call_is_settled_at_its_estimate(self) -> None:
        """A worker was killed in mid-answer."""
        lost, running = reserve(), reserve()
        ModelCall.objects.filter(pk=lost).update(at=timezone.now() - timedelta(minutes=61))

        assert budgets.settle_stale() == 1
        assert budgets.settle_stale() == 0

        row = ModelCall.objects.get(pk=lost)
        assert (row.settled, row.error, row.cost) == (True, "lost", Decimal("0.2"))
        assert not ModelCall.objects.get(pk=running).settled

    def test_call_is_linked_to_an_answer_stored_before_it_ends(self) -> None:
        payer = Payer(answer=str(uuid.uuid4()))
        early, late = reserve(payer), reserve(payer)
        settle(early, 1, 1)
        answer = Answer.objects.create(
            public_id=payer.answer, question="q", searched_for="q", asked_mode="auto", mode="auto"
        )

        settle(late, 1, 1)

        assert set(answer.calls.values_list("pk", flat=True)) == {early, late}

    def test_the_name_of_a_model_may_have_any_length(self) -> None:
        call = budgets.reserve(Payer(), purpose="answer", model="m" * 300, prompt=9, most=9)
        assert ModelCall.objects.get(pk=call).model == "m" * 120


@pytest.mark.usefixtures("prices")
class TestTheSite:
    def test_budget_of_the_site_counts_reservations(self) -> None:
        limit(site_monthly=Decimal("0.5"))
        first, _ = reserve(), reserve()
        with pytest.raises(BudgetExceeded):
            reserve()
        settle(first, 50, 0)
        reserve()
        assert ModelCall.objects.aggregate(all=Sum("cost"))["all"] == Decimal("0.45")

    def test_a_refusal_says_which_budget_and_when_it_resets(self) -> None:
        limit(site_monthly=Decimal(0))
        with pytest.raises(BudgetExceeded, match=r"This site.*resets on") as refused:
            budgets.check(Payer())
        first = (timezone.localtime().replace(day=1) + timedelta(days=32)).replace(day=1)
        assert str(first.year) in str(refused.value)
        assert refused.value.code == "budget_exceeded"

    def test_budget_of_the_site_resets_each_month(self) -> None:
        limit(site_monthly=Decimal("0.2"))
        call = reserve()
        month = timezone.localtime().replace(day=1, hour=0, minute=0, second=0, microsecond=0)
        ModelCall.objects.filter(pk=call).update(at=month - timedelta(seconds=1))
        reserve()


@pytest.mark.usefixtures("prices")
class TestAUser:
    def test_each_user_has_a_budget(self, reader: User, member: User) -> None:
        limit(user_monthly=Decimal("0.3"))
        reserve(Payer(reader))
        with pytest.raises(BudgetExceeded, match="Your monthly budget"):
            reserve(Payer(reader))
        reserve(Payer(member))
        budgets.check(Payer(reader))  # .1 is left for a shorter call

    def test_visitors_do_not_spend_a_users_budget(self, reader: User) -> None:
        limit(user_monthly=Decimal("0.2"))
        reserve(Payer(visitor="v"))
        reserve(Payer(reader))


@pytest.mark.usefixtures("prices")
class TestAVisitor:
    def test_answers_count_not_calls(self) -> None:
        limit(visitor_daily=2)
        first, second, third = (Payer(visitor="v", answer=str(uuid.uuid4())) for _ in range(3))
        for payer in (first, first, second, second):
            reserve(payer)
        with pytest.raises(BudgetExceeded, match="2 answers a day"):
            reserve(third)
        reserve(second)  # an answer that was begun may be completed
        reserve(Payer(visitor="other"))

    def test_a_call_that_failed_at_once_does_not_count(self) -> None:
        limit(visitor_daily=1)
        settle(reserve(Payer(visitor="v")), 0, 0, "not_reached")
        reserve(Payer(visitor="v"))
        with pytest.raises(BudgetExceeded):
            budgets.check(Payer(visitor="v"))

    def test_stopped_answer_counts_for_the_visitor(self) -> None:
        limit(visitor_daily=1)
        settle(reserve(Payer(visitor="v")), 80, 0, "stopped")
        with pytest.raises(BudgetExceeded):
            reserve(Payer(visitor="v"))

    def test_answers_of_yesterday_do_not_count(self) -> None:
        limit(visitor_daily=1)
        call = reserve(Payer(visitor="v"))
        today = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
        ModelCall.objects.filter(pk=call).update(at=today - timedelta(seconds=1))
        reserve(Payer(visitor="v"))


def key(address: str, browser: str = "a") -> str:
    request = RequestFactory().get("/", headers={"user-agent": browser}, REMOTE_ADDR=address)
    request.user = AnonymousUser()
    return budget_key(request)


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("203.0.113.7", "203.0.113.7", True),
        ("203.0.113.7", "203.0.113.7:5012", True),
        ("203.0.113.7", "::ffff:203.0.113.7", True),
        ("203.0.113.7", "203.0.113.8", False),
        ("2001:db8::1", "2001:db8::ffff:0:2", True),
        ("2001:db8::1", "[2001:db8::2]:80", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
    ],
)
def test_visitors_are_counted_by_network(one: str, other: str, is_same: bool) -> None:
    """Not by what they say of their browser, nor by an address that they can choose."""
    assert (key(one) == key(other, "another browser")) is is_same


def test_visitors_are_counted_by_local_day(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `answers_today` counts."""
    before = key("203.0.113.7")
    assert key("203.0.113.7") == before
    tomorrow = timezone.localtime() + timedelta(days=1)
    monkeypatch.setattr(timezone, "localtime", lambda: tomorrow)
    assert key("203.0.113.7") != before


def test_users_have_no_key_of_visitors(reader: User) -> None:
    request = RequestFactory().get("/")
    request.user = reader
    assert budget_key(request) == ""


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kind", ["site", "user", "visitor"])
def test_fifty_askers_at_once_do_not_exceed_a_budget(kind: str) -> None:
    """Issue 12, faults: in transactions of their own, all at the same moment."""
    ModelPrice.objects.create(model=PRICED, input_per_million=1_000, output_per_million=2_000)
    user = User.objects.create_user("asker", password="pw-asker")
    payer = {"site": Payer(), "user": Payer(user), "visitor": Payer(visitor="v")}[kind]
    limit(
        **{"site": {"site_monthly": 2}, "user": {"user_monthly": 2}, "visitor": {}}[kind],
        visitor_daily=10,
    )
    threads = 10
    together = Barrier(threads)

    def ask(number: int) -> str:
        try:
            if number < threads:
                together.wait(timeout=30)
            reserve(payer)
        except BudgetExceeded:
            return "refused"
        finally:
            connection.close()
        return "reserved"

    with ThreadPoolExecutor(threads) as pool:
        outcomes = Counter(pool.map(ask, range(50)))

    assert outcomes == {"reserved": 10, "refused": 40}
    assert ModelCall.objects.aggregate(all=Sum("cost"))["all"] == 2
