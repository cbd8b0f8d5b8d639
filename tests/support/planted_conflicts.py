"""Pairs of documents that give different figures for one thing, and pairs that agree; seeded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from ingestion.document_dates import DocumentDate
from search.answers.context import select
from search.answers.domain import Answered, AnswerParameters, Mode, State
from search.answers.making.quoting import quoted
from search.answers.making.writing import with_both_sides
from search.answers.quotes import extract
from search.domain import Query
from tests.support.pieces import piece

# Heading, question, a wording of each edition, the older figure and the newer one.
RULES = """
Cancellation; How long before pick-up can a booking be cancelled?; Cancellation is free of charge up to {} before pick-up.; A booking can be cancelled free of charge up to {} before pick-up.; 24 hours; 48 hours
Deposit; How high is the deposit for a van?; The deposit for a van is {}.; The deposit of {} for a van is paid by card.; £200; £350
Annual leave; How many days of annual leave do I get?; Full-time staff get {} of paid annual leave.; Every full-time member of staff gets {} of annual leave.; 25 days; 28 days
Passwords; How long must a password be?; A password has at least {}.; Choose a password of at least {}.; 8 characters; 12 characters
Mileage; What is paid for a mile by car?; Travel by private car is paid at {} a mile.; A mile by private car is paid at {}.; £0.45; £0.55
Retention; How long are invoices kept?; Invoices are kept for {} in the archive.; The archive keeps invoices for {}.; 6 years; 10 years
Delivery; From which order on is delivery free?; Delivery is free for orders above {}.; Orders above {} are delivered free.; €50; €75
Response; How fast is the response to a priority 1 ticket?; A ticket of high priority gets a response within {}.; The response to a ticket of high priority comes within {}.; 4 hours; 2 hours
Wheels; How tight are the wheel nuts?; Tighten the wheel nuts to {} with a torque wrench.; The wheel nuts are tightened to {} with a torque wrench.; 90 Nm; 110 Nm
Tyres; What pressure do the tyres need?; The rear tyres need a pressure of {}.; Fill the rear tyres to a pressure of {}.; 2.4 bar; 2.8 bar
Opening hours; When does the depot open?; The depot opens at {} on weekdays.; On weekdays the depot opens at {}.; 8:00; 7:30
Notice; How long is the notice period?; The notice period for both sides is {}.; Both sides keep a notice period of {}.; one month; three months
Storage; At what temperature is the vaccine stored?; Store the vaccine in the fridge at {}.; The vaccine is stored in the fridge at {}.; 5 °C; 8 °C
Late fee; What does paying rent late cost?; The fee for late rent is {} of the rent.; Rent that is late costs a fee of {} of the rent.; 5%; 8%
Forklifts; How fast may a forklift drive?; Forklifts drive at no more than {} in the hall.; In the hall forklifts may drive at {} at most.; 10 km/h; 6 km/h
Probation; How long is the probation?; The probation of new staff lasts {}.; New staff have a probation of {}.; 3 months; six months
Backups; How long are backups kept?; Nightly backups are kept for {}.; We keep the nightly backups for {}.; 30 days; 90 days
Expenses; By when are expenses handed in?; Expenses of the quarter are handed in by {}.; Hand in the expenses of the quarter by {}.; 5 April; 10 April
Approval; Which claims need the director's approval?; A claim above {} needs the approval of the director.; The director must approve a claim above {}.; £500; £1,000
Shelves; How much does a shelf carry?; A shelf in the store carries at most {}.; The load of a shelf in the store is at most {}.; 120 kg; 90 kg
"""  # noqa: E501  # a rule a line
TITLES = (
    ("{} 2023", "{} 2026"),
    ("{} (old)", "{}"),
    ("{} v1", "{} v2"),
    ("{} draft", "{} final"),
    ("{} of the depot", "Handbook of the company"),
)
FILLERS = (
    "This section replaces all earlier notices on the board.",
    "Questions go to the office on the first floor.",
    "It applies to all sites and to all partners.",
    "Exceptions are agreed in writing.",
)


@dataclass(frozen=True, slots=True)
class Pair:
    """The answer by quotes to the question of a rule, with two documents that have it."""

    answer: Answered
    figures: tuple[str, str]
    shape: str


def pairs(seed: int, *, agree: bool = False) -> Iterator[Pair]:
    """Ten pairs for each rule; with `agree` both of each have the same figure."""
    random = Random(seed)
    for line in RULES.strip().splitlines():
        heading, question, one, other, older, newer = line.split("; ")
        for place in range(10):
            wording = other if place % 2 else one
            figures = (newer, newer) if agree else (older, newer)
            titles = TITLES[place % len(TITLES)]
            yield _pair(random, heading, question, (one, wording), figures, titles)


def _pair(
    random: Random,
    heading: str,
    question: str,
    wordings: tuple[str, str],
    figures: tuple[str, str],
    titles: tuple[str, str],
) -> Pair:
    shape = random.choice(("prose", "list", "row"))
    ranks = random.sample((1, 2, 3), 3)
    pieces = []
    for number, (wording, figure, title) in enumerate(
        zip(wordings, figures, titles, strict=True), start=1
    ):
        sentence = wording.format(figure)
        if shape == "row":  # labels of tables are seldom reworded
            sentence = f"Rule | Value\n{wordings[0].split(' {}')[0]} | {figure}"
        before, after = random.sample(FILLERS, 2)
        mark = "- " if shape == "list" else ""
        between = {"prose": " ", "list": "\n", "row": "\n\n"}[shape]
        text = between.join(mark + each for each in (before, sentence, after))
        named = {"title": title.format("Rules"), "heading_path": (heading,)}
        date = DocumentDate(("2023", "2026")[number - 1])
        pieces.append(piece(number, text, **named, date=date, rank=ranks[number - 1]))
    distractor = f"{FILLERS[2]} The office is open for 8 hours and has 14 desks."
    pieces.append(piece(3, distractor, title="Offices", heading_path=(heading,), rank=ranks[2]))
    context = select(pieces, AnswerParameters()).context()
    extraction = extract(Query(question), context, embedder=None, most=3)
    answer = Answered("x", question, question, Mode.AUTO, Mode.AUTO, State.DONE, context=context)
    quotes = with_both_sides(extraction.quotes, context)
    return Pair(quoted(answer, quotes), figures, shape)
