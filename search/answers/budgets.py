"""What calls of the language model cost, and the budgets that bound them.

A call is reserved at an estimate before it is sent and settled when it has ended, however it ended.
Reservations count as spent: askers at once cannot exceed a budget together.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from django.contrib.auth.models import AnonymousUser
from django.db import transaction
from django.db.models import Q, QuerySet, Sum
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.formats import date_format
from django.utils.translation import gettext

from common.accounts.guard import address_of, network_of
from common.accounts.models import User
from common.database import hold_name
from search.answers.domain import Usage
from search.answers.models import Answer, AnswerLimits, ModelCall, ModelPrice
from search.errors import BudgetExceeded

# A call that is not settled by then was lost with its worker; the longest answer takes 10 minutes.
STALE = timedelta(hours=1)
MILLION = Decimal(1_000_000)
# What the columns hold; a server may state any number.
MOST_TOKENS, MOST_COST = 2_000_000_000, Decimal(999_999)
MOST_NAME = 120


@dataclass(frozen=True, slots=True)
class Payer:
    """Who asks: a user, or a visitor by their `budget_key`. Without either, only the site's budget
    bounds the call.

    `answer` is the public id of the answer that the calls are for, which need not be stored yet.
    """

    user: User | None = None
    visitor: str = ""
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Spent:
    """The cost of a finished call. `usage.cost` is ignored: the price table decides."""

    usage: Usage
    milliseconds: float
    first_token_ms: float | None = None
    error: str = ""


def budget_key(request: HttpRequest) -> str:
    """The key under which a visitor's model calls of one local day count; empty for users.

    It is made from the address alone: a client chooses its User-Agent, and its address within an
    IPv6 network.
    """
    user: User | AnonymousUser | None = getattr(request, "user", None)
    if user is not None and user.is_authenticated:
        return ""
    text = f"{timezone.localtime().date()} {network_of(address_of(request))}"
    return str(salted_hmac("search.answers.budget", text, algorithm="sha256").hexdigest())


def check(payer: Payer) -> None:
    """Raise BudgetExceeded if a budget is used up. Up to three queries, no lock."""
    _refuse(_limits(), payer, Decimal(0))


@transaction.atomic
def reserve(payer: Payer, *, purpose: str, model: str, prompt: int, most: int) -> int:
    """Record a call of at most `prompt` and `most` tokens and return its primary key.

    Raises BudgetExceeded if it does not fit into a budget together with the calls under way.
    """
    model = model[:MOST_NAME]
    limits = _limits()
    # In one order for everybody, so that no two wait for each other.
    if limits.site_monthly is not None:
        hold_name("answer-budget-site")
    if payer.user is not None and limits.user_monthly is not None:
        hold_name(f"answer-budget-user-{payer.user.pk}")
    if payer.user is None and payer.visitor:
        hold_name(f"answer-budget-visitor-{payer.visitor}")
    cost = price(model, prompt, most)
    _refuse(limits, payer, cost)
    call = ModelCall.objects.create(
        answer_key=uuid.UUID(payer.answer) if payer.answer else None,
        user=payer.user,
        visitor=payer.visitor,
        purpose=purpose,
        model=model,
        prompt_tokens=prompt,
        completion_tokens=most,
        estimated=True,
        cost=cost,
    )
    return call.pk


def settle(call: int, spent: Spent) -> Usage:
    """Record the usage of a call and return it with its cost. Only the first settlement counts.

    Links all calls of the same answer to the answer's row if it is stored by now.
    """
    row = ModelCall.objects.filter(pk=call).only("model", "answer_key").first()
    prompt = min(max(spent.usage.prompt_tokens, 0), MOST_TOKENS)
    completion = min(max(spent.usage.completion_tokens, 0), MOST_TOKENS)
    cost = price(row.model, prompt, completion) if row else Decimal(0)
    ModelCall.objects.filter(pk=call, settled=False).update(
        prompt_tokens=prompt,
        completion_tokens=completion,
        estimated=spent.usage.estimated,
        cost=cost,
        settled=True,
        milliseconds=spent.milliseconds,
        first_token_ms=spent.first_token_ms,
        error=spent.error[:40],
    )
    if row is not None and row.answer_key is not None:
        stored = Answer.objects.filter(public_id=row.answer_key).values("pk")
        ModelCall.objects.filter(answer_key=row.answer_key, answer=None).update(answer=stored[:1])
    return Usage(prompt, completion, float(cost), spent.usage.estimated)


def settle_stale() -> int:
    """Settle the calls whose worker was lost at their estimated cost; return their number."""
    before = timezone.now() - STALE
    return ModelCall.objects.filter(settled=False, at__lt=before).update(settled=True, error="lost")


def price(model: str, prompt: int, completion: int) -> Decimal:
    """The cost of so many tokens; 0 for a model without a price."""
    row = ModelPrice.objects.filter(model=model).first()
    if row is None:
        return Decimal(0)
    cost = (prompt * row.input_per_million + completion * row.output_per_million) / MILLION
    return min(cost, MOST_COST).quantize(Decimal("0.000001"))


def _limits() -> AnswerLimits:
    return AnswerLimits.objects.filter(pk=1).first() or AnswerLimits(pk=1)


def _refuse(limits: AnswerLimits, payer: Payer, cost: Decimal) -> None:
    """Raise BudgetExceeded if `cost` does not fit, or nothing would fit."""
    month = timezone.localtime().replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    calls = ModelCall.objects.filter(at__gte=month)
    following = (month + timedelta(days=32)).replace(day=1)
    when = date_format(following, "DATE_FORMAT")
    if limits.site_monthly is not None and not _fits(calls, cost, limits.site_monthly):
        raise BudgetExceeded(
            gettext(
                "This site's monthly budget for answers by a language model does not cover "
                "another one. It resets on %(date)s; until then answers consist of "
                "quotes."
            )
            % {"date": when}
        )
    if payer.user is not None:
        own = calls.filter(user=payer.user)
        if limits.user_monthly is not None and not _fits(own, cost, limits.user_monthly):
            raise BudgetExceeded(
                gettext(
                    "Your monthly budget for answers by a language model does not cover another "
                    "one. It resets on %(date)s; until then answers consist of quotes."
                )
                % {"date": when}
            )
    elif payer.visitor and _answers_today(payer) >= limits.visitor_daily:
        raise BudgetExceeded(
            gettext(
                "Visitors get %(count)d answers a day from a language model. More will be "
                "possible tomorrow; until then, sign in, or read answers that consist of quotes."
            )
            % {"count": limits.visitor_daily}
        )


def _fits(calls: QuerySet[ModelCall], cost: Decimal, budget: Decimal) -> bool:
    spent = calls.aggregate(spent=Sum("cost"))["spent"] or Decimal(0)
    return spent < budget and spent + cost <= budget


def _answers_today(payer: Payer) -> int:
    """The number of other answers of today for which the visitor called a model.

    A call without tokens, such as one that failed at once, does not count.
    """
    today = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    calls = ModelCall.objects.filter(user=None, visitor=payer.visitor, at__gte=today).exclude(
        Q(settled=True, prompt_tokens=0, completion_tokens=0)
    )
    of_answers = calls.exclude(answer_key=None).exclude(answer_key=payer.answer or None)
    alone = calls.filter(answer_key=None)
    return of_answers.order_by().values("answer_key").distinct().count() + alone.count()
