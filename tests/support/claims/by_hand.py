"""Sentences written by hand: hard cases, and restatements in a person's own words."""

from __future__ import annotations

from search.answers.domain import Context
from tests.support.claims.labelled import Labelled, passage

POOL = (
    "Each process keeps its own pool of connections. Set the timeout to five seconds and turn "
    "on keepalives. The pool holds at most ten connections, and version 2.10 raised the limit "
    "from 1.5 to 2 GB. Dr. Jane Smith wrote the driver in 1965, when she was 28 years old."
)
SITE = (
    "The server does not support IPv6. The proxy supports HTTP/2 and WebSocket. Not only the "
    "admin but also editors may publish pages. Turnout rose by 4 percentage points, from 41 "
    "to 45 percent. The report calls the plan “bold and overdue”. Logs are kept for 90 days "
    "unless legal hold is on."
)
TABLE = "| Setting | Seconds |\n|---|---|\n| connect_timeout | 5 |\n| pool_timeout | 10 |"
GERMAN = (
    "Der Urlaub wird mindestens vier Wochen vorher schriftlich beantragt. Überstunden werden "
    "nicht ausgezahlt, sondern abgebaut. Die Probezeit dauert sechs Monate und endet am 30. "
    "Juni 2024. Die Genehmigung erteilt die Leitung der Abteilung."
)
TRADE = (
    "In 1815 the Russian Empire annexed the town; Prussia had held it since 1795. Exports "
    "fell by a third to 1,200 tonnes. The World Health Organization sent 14 doctors on 3 May "
    "1921. Anna Weiss led them, and Karl Brandt kept the books. About half of the children "
    "were vaccinated."
)
HARD: tuple[tuple[str, str, bool], ...] = (
    ("Set the timeout to 5 seconds.", POOL, True),
    ("Set the timeout to 5 s.", POOL, True),
    ("Set the timeout to 15 seconds.", POOL, False),
    ("Set the timeout to 5 minutes.", POOL, False),
    ("Set the timeout to 5000 ms.", POOL, True),
    ("Version 2.10 raised the limit.", POOL, True),
    ("Version 2.1 raised the limit.", POOL, False),
    ("The limit was raised from 15 to 2 GB.", POOL, False),
    ("The limit was raised to 2 MB.", POOL, False),
    ("The limit was raised to 2 gigabytes.", POOL, True),
    ("Smith wrote the driver in 1965.", POOL, True),
    ("Dr. Smith wrote the driver in 1965.", POOL, True),
    ("Jane Smith wrote the driver.", POOL, True),
    ("John Smith wrote the driver.", POOL, False),
    ("Jane Smith was 65 when she wrote the driver.", POOL, False),
    ("Jane Smith wrote the driver in 1928.", POOL, False),
    ("The pool holds up to 10 connections.", POOL, True),
    ("Each process has a pool of its own.", POOL, True),
    ("IPv6 is not supported by the server.", SITE, True),
    ("Editors may publish pages, not only the admin.", SITE, True),
    ("Turnout rose by 4 percentage points.", SITE, True),
    ("Turnout rose by 4 percent.", SITE, False),
    ("Turnout rose to 45%.", SITE, True),
    ("The report calls the plan “bold and overdue”.", SITE, True),
    ("The report calls the plan “bold but overdue”.", SITE, False),
    ("Logs are kept for ninety days.", SITE, True),
    ("Logs are kept for 3 months.", SITE, False),
    ("The `pool_timeout` is 10 seconds.", TABLE, True),
    ("The `pool_timeout` is 5 seconds.", TABLE, False),
    ("The `read_timeout` is 10 seconds.", TABLE, False),
    ("The `connect_timeout` is 5 minutes.", TABLE, False),
    ("Urlaub muss man 4 Wochen vorher schriftlich beantragen.", GERMAN, True),
    ("Der Urlaub wird mindestens zwei Wochen vorher beantragt.", GERMAN, False),
    ("Überstunden werden abgebaut.", GERMAN, True),
    ("Die Probezeit endet am 30.06.2024.", GERMAN, True),
    ("Die Probezeit endet am 31. Juli 2024.", GERMAN, False),
    ("Die Probezeit dauert ein halbes Jahr, also 6 Monate.", GERMAN, True),
    ("Exports fell to 1200 tonnes.", TRADE, True),
    ("Exports fell by one third.", TRADE, True),
    ("Exports fell by a quarter.", TRADE, False),
    ("The WHO sent fourteen doctors on May 3, 1921.", TRADE, True),
    ("The WHO sent 14 nurses.", TRADE, False),
    ("Karl Weiss led the doctors.", TRADE, False),
    ("50% of the children were vaccinated.", TRADE, True),
    ("Prussia annexed the town in 1815.", TRADE, False),
    ("The town was annexed before 1795.", TRADE, False),
)
# As a person or a model would say it: more freely than any rule of `mutations` does.
FREE: tuple[tuple[str, str, bool], ...] = (
    ("Every process has its own connection pool.", POOL, True),
    ("You should configure a timeout of five seconds and enable keepalives.", POOL, True),
    ("A pool is limited to ten connections.", POOL, True),
    ("The driver was written by Jane Smith in 1965.", POOL, True),
    ("Keepalives should be switched on.", POOL, True),
    ("With version 2.10, the limit became 2 GB.", POOL, True),
    ("Connections are shared between all processes.", POOL, False),
    ("The timeout can be left at its default.", POOL, False),
    ("HTTP/2 works through the proxy.", SITE, True),
    ("Publishing is open to editors as well as the admin.", SITE, True),
    ("After 90 days logs are deleted, except under legal hold.", SITE, True),
    ("The plan was described as “bold and overdue” in the report.", SITE, True),
    ("The server handles IPv6 traffic well.", SITE, False),
    ("Logs are archived to tape every month.", SITE, False),
    ("Leave has to be requested in writing.", GERMAN, False),  # of another language: not provable
    ("Mitarbeiter beantragen Urlaub schriftlich, und zwar vier Wochen im Voraus.", GERMAN, True),
    ("Zuständig für die Genehmigung ist die Leitung der Abteilung.", GERMAN, True),
    ("Der Urlaub kann telefonisch beantragt werden.", GERMAN, False),
    ("Before the Russian Empire took the town in 1815, it belonged to Prussia.", TRADE, True),
    ("Fourteen doctors came from the World Health Organization.", TRADE, True),
    ("The bookkeeping was done by Karl Brandt.", TRADE, True),
    ("Exports shrank by a third.", TRADE, True),
    ("The doctors brought a new medicine from Geneva.", TRADE, False),
    ("Most of the children refused the vaccine.", TRADE, False),
)  # fmt: skip


def by_hand(cases: tuple[tuple[str, str, bool], ...]) -> list[Labelled]:
    """The cases as labelled sentences; the other texts are in the context, too."""
    texts = (POOL, SITE, TABLE, GERMAN, TRADE)
    found = []
    for text, source, is_true in cases:
        chosen = [source, *(each for each in texts if each != source)]
        context = Context(tuple(passage(n, f"Text {n}", e) for n, e in enumerate(chosen, start=1)))
        found.append(Labelled("by hand", text, is_true, context, text))
    return found
