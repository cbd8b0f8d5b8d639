"""120 sentences about seven passages, written by hand as a person or a good model would.

`RIGHT` ones follow from their passage, in other words; `WRONG` ones have another figure, unit,
date, identifier, name or quotation than it; `OTHER` ones are wrong in a way that these do not show:
another noun, who did what to whom, a negation, a number of something else.
"""

from __future__ import annotations

from search.answers.domain import Context
from tests.support.pieces import passage

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
MANUAL = (
    "SESSION_COOKIE_AGE\n\nDefault: 1209600 (2 weeks, in seconds)\n\nThe age of session cookies, "
    "in seconds. A SlugField without a max_length uses 50 characters. Django uses the PBKDF2 "
    "algorithm with a SHA256 hash by default; bcrypt is supported too. EmailMessage.attach() takes "
    "a filename, content and mimetype, while send_mail() has no attachments. select_related() "
    "returns a QuerySet that follows foreign-key relationships. Use `migrate app 0003` to go back."
)
NEWS = (
    "Verstappen won his seventh title of the season in Spa, 14.2 seconds ahead of Lando Norris. "
    "The multi-Oscar-winning director Ang Lee was born in Taiwan in October 1954. A porter with a "
    "20kg load climbs to 3,500 m in about six hours. Legends bought ASM Global for $2.3 billion "
    "in August 2024, said chief executive Dan Levy. The bill passed by 52 to 48 at 3 pm."
)
RIGHT: dict[str, tuple[str, ...]] = {
    POOL: (
        "Set the timeout to 5 seconds.", "Set the timeout to 5 s.", "Set the timeout to 5000 ms.",
        "Version 2.10 raised the limit.", "The limit was raised to 2 gigabytes.",
        "Smith wrote the driver in 1965.", "Dr. Smith wrote the driver in 1965.",
        "The pool holds up to 10 connections.", "Each process has a pool of its own.",
        "Every process has its own connection pool.", "A pool is limited to ten connections.",
        "You should configure a timeout of five seconds and enable keepalives.",
        "The driver was written by Jane Smith in 1965.", "Keepalives should be switched on.",
        "With version 2.10, the limit became 2 GB.",
    ),
    SITE: (
        "IPv6 is not supported by the server.", "Turnout rose by 4 percentage points.",
        "Editors may publish pages, not only the admin.", "Turnout rose to 45%.",
        "The report calls the plan “bold and overdue”.", "Logs are kept for ninety days.",
        "HTTP/2 works through the proxy.",
        "Publishing is open to editors as well as the admin.",
        "After 90 days logs are deleted, except under legal hold.",
    ),
    TABLE: ("The `pool_timeout` is 10 seconds.", "`connect_timeout` is set to five seconds."),
    GERMAN: (
        "Urlaub muss man 4 Wochen vorher schriftlich beantragen.", "Überstunden werden abgebaut.",
        "Die Probezeit endet am 30.06.2024.",
        "Die Probezeit dauert ein halbes Jahr, also 6 Monate.",
        "Mitarbeiter beantragen Urlaub schriftlich, und zwar vier Wochen im Voraus.",
        "Zuständig für die Genehmigung ist die Leitung der Abteilung.",
    ),
    TRADE: (
        "Exports fell to 1200 tonnes.", "Exports fell by one third.",
        "The WHO sent fourteen doctors on May 3, 1921.", "50% of the children were vaccinated.",
        "Before the Russian Empire took the town in 1815, it belonged to Prussia.",
        "Fourteen doctors came from the World Health Organization.",
        "The bookkeeping was done by Karl Brandt.", "Exports shrank by a third.",
    ),
    MANUAL: (
        "By default, session cookies live for two weeks (`SESSION_COOKIE_AGE` is 1,209,600).",
        "A `SlugField` holds at most 50 characters unless you set `max_length`.",
        "Passwords are hashed with PBKDF2 and SHA256 unless you configure another hasher.",
        "Besides PBKDF2, Django supports bcrypt.",
        "`send_mail()` does not support attachments.",
        "To add a file, call `EmailMessage.attach()` with the filename, content and MIME type.",
        "Call `select_related()` to follow foreign keys.",
        "First, run `migrate app 0003` to return to the third migration.",
        "The cookie lasts 14 days.", "Attachments need a filename, their content and a MIME type.",
    ),
    NEWS: (
        "Verstappen has won seven times this season.",
        "He finished 14.2 s ahead of Norris.",
        "Ang Lee, an Oscar winner, comes from Taiwan.", "Lee was born in 1954.",
        "Carrying 20 kg, a porter needs about 6 hours to reach 3500 metres.",
        "ASM Global was bought by Legends for 2.3 billion dollars.",
        "The deal was announced by Dan Levy, the CEO of Legends.",
        "The bill passed 52-48 at 15:00.", "The vote was close: 52 against 48.",
        "The purchase took place in August 2024.", "It cost Legends $2.3bn.",
        "Norris was second, 14.2 seconds behind.",
    ),
}  # fmt: skip
WRONG: dict[str, tuple[str, ...]] = {
    POOL: (
        "Set the timeout to 15 seconds.", "Set the timeout to 5 minutes.",
        "Version 2.1 raised the limit.", "The limit was raised from 15 to 2 GB.",
        "The limit was raised to 2 MB.", "John Smith wrote the driver.",
        "Jane Smith was 65 when she wrote the driver.", "Jane Smith wrote the driver in 1928.",
        "The driver reads `pool_name`.", "A pool holds up to a dozen connections.",
    ),
    SITE: (
        "Turnout rose by 4 percent.", "The report calls the plan “bold but overdue”.",
        "Logs are kept for 3 months.", "The server does not support IPv4.",
        "The proxy supports HTTP/3.",
    ),
    TABLE: ("The `read_timeout` is 10 seconds.", "The `connect_timeout` is 5 minutes."),
    GERMAN: (
        "Der Urlaub wird mindestens zwei Wochen vorher beantragt.",
        "Die Probezeit endet am 31. Juli 2024.",
    ),
    TRADE: (
        "Exports fell by a quarter.", "Karl Weiss led the doctors.",
        "Exports fell to 1,200 kilograms.", "The doctors came on 13 May 1921.",
        "The doctors were sent by the Red Cross.",
    ),
    MANUAL: (
        "`SESSION_COOKIE_AGE` defaults to 259200.", "A `SlugField` holds 255 characters.",
        "Passwords are hashed with Argon2 by default.",
        "Set `SESSION_COOKIE_COLOR` to change it.", "Call `prefetch_related()` for that.",
        "Passwords are hashed with SHA512.", "Use `migrate app 0002` to go back.",
        "Session cookies live for three weeks.",
    ),
    NEWS: (
        "Verstappen won his eighth title of the season.", "He was 12.4 seconds ahead.",
        "Ang Lee was born in China.", "Ang Lee was born in November 1954.",
        "The porter carries 20 lb.", "Legends paid $3.2 billion.",
        "The bill passed by 54 to 48.", "The vote was at 3 am.", "Oscar Piastri came second.",
        "Legends bought ASM Global in August 2023.", "It was his twelfth title.",
    ),
}  # fmt: skip
OTHER: dict[str, tuple[str, ...]] = {
    POOL: (
        "Connections are shared between all processes.",
        "The timeout can be left at its default.",
    ),
    SITE: ("The server handles IPv6 traffic well.", "Logs are archived to tape every month."),
    TABLE: ("The `pool_timeout` is 5 seconds.",),
    GERMAN: (
        "Leave has to be requested in writing.", "Der Urlaub kann telefonisch beantragt werden.",
    ),
    TRADE: (
        "Prussia annexed the town in 1815.", "The WHO sent 14 nurses.",
        "The doctors brought a new medicine from home.",
        "Most of the children refused the vaccine.",
    ),
    MANUAL: ("Passwords are hashed with bcrypt by default.",),
    NEWS: (
        "ASM Global bought Legends for $2.3 billion.", "Norris won in Spa.",
        "The bill was rejected.",
    ),
}  # fmt: skip


# Sixty about tables, lists and parallel sentences: the wrong ones say of one thing what the
# passage says of another, or what it does not say.
RATES = (
    "Meals on business trips\n"
    "\n"
    "Country | Whole day (euros) | Half a day (euros)\n"
    "Norway | 62 | 31\n"
    "Denmark | 58 | 29\n"
    "Poland | 34 | 17\n"
    "Portugal | 41 | 20"
)
PRICES = (
    "Price list 2026\n"
    "\n"
    "Article | Description | Price (pounds)\n"
    "HL-200 | Hand lamp | 38.40\n"
    "HL-250 | Hand lamp with hook | 44.10\n"
    "HL-300 | Work lamp | 61.00\n"
    "BX-10 | Battery box | 12.75"
)
TICKETS = (
    "Service levels\n"
    "\n"
    "A ticket of priority 1 is answered within 15 minutes. A ticket of priority 2 is "
    "answered within 2 hours. A ticket of priority 3 is answered within one working day. "
    "Support is open from 07:00 to 19:00."
)
STAFF = (
    "People\n"
    "\n"
    "Role | Name | Telephone\n"
    "Manager | Ingrid Paulsen | 140\n"
    "Treasurer | Tomasz Wrona | 141\n"
    "Data protection officer | Lucille Fournier | 145\n"
    "Caretaker | Marek Dvořák | 199"
)
LEASE = (
    "Lease of the hall\n"
    "\n"
    "The lease between Harbour Estates and Northwind Sailing Ltd began on 1 April 2023 and "
    "ends on 31 March 2028. The rent is £38,400 a year. The deposit is £9,600. Notice must "
    "be given six months before the end. The landlord repairs the roof; the tenant repairs "
    "windows."
)
HALLS = (
    "Weddings\n"
    "\n"
    "The large hall holds 120 guests and costs 900 euros a day. The small hall holds 45 "
    "guests and costs 400 euros a day. For weddings the large hall costs 1,150 euros. The "
    "key is returned by 10:00. Contact Ms Adler for the large hall and Mr Brun for the small "
    "hall."
)
INC = (
    "Register of incidents\n"
    "\n"
    "INC-0117: A pump failed at Dock 3 on 2 May 2024; it took 5 hours to replace. INC-0118: "
    "A cable was cut at Dock 7 on 9 June 2024; it took 3 days to repair."
)
RIGHT_ROWS: dict[str, tuple[str, ...]] = {
    RATES: (
        "In Norway 62 euros are paid for a whole day.",
        "Half a day in Poland is paid with 17 euros.",
        "For Denmark the whole-day rate is €58.",
        "The rate for Portugal is 41 euros, and half of that is 20.",
    ),
    PRICES: (
        "The HL-200 costs 38.40 pounds.",
        "A battery box costs £12.75.",
        "The work lamp (HL-300) is £61.",
        "The hand lamp with a hook costs 44.10 pounds.",
        "HL-200 is cheaper than HL-300: 38.40 against 61 pounds.",
    ),
    TICKETS: (
        "Priority 2 tickets get an answer within two hours.",
        "A priority 1 ticket is answered in 15 minutes.",
        "For priority 3 it takes one working day.",
        "You can reach support between 7 am and 7 pm.",
    ),
    STAFF: (
        "Lucille Fournier is the data protection officer.",
        "The treasurer, Tomasz Wrona, can be reached at 141.",
        "Call 199 for the caretaker.",
        "The manager is Ingrid Paulsen (telephone 140).",
    ),
    LEASE: (
        "The rent is 38,400 pounds a year.",
        "The lease ends on 31 March 2028.",
        "The tenant pays a deposit of £9,600.",
        "It began in April 2023.",
        "Notice is six months.",
        "The landlord, Harbour Estates, repairs the roof.",
    ),
    HALLS: (
        "The small hall is for 45 guests.",
        "A wedding in the large hall costs 1,150 euros.",
        "Up to 120 guests fit in the large hall, for 900 euros a day.",
        "Mr Brun is the contact for the small hall.",
    ),
    INC: (
        "INC-0118 was a cut cable at Dock 7.",
        "The repair of INC-0118 took three days.",
        "INC-0117 happened on 2 May 2024.",
    ),
}  # fmt: skip
WRONG_ROWS: dict[str, tuple[str, ...]] = {
    RATES: (
        "In Norway 58 euros are paid for a whole day.",
        "Half a day in Poland is paid with 31 euros.",
        "The rate for Portugal is 34 euros.",
        "In Denmark one gets 85 euros.",
    ),
    PRICES: (
        "The HL-200 costs 44.10 pounds.",
        "A battery box costs £38.40.",
        "The HL-300 is 12.75 pounds.",
        "The HL-400 costs 61 pounds.",
        "The work lamp costs 61 dollars.",
    ),
    TICKETS: (
        "Priority 2 tickets get an answer within 15 minutes.",
        "A priority 1 ticket is answered within 2 hours.",
        "Support is open until 21:00.",
    ),
    STAFF: (
        "Tomasz Wrona is the data protection officer.",
        "The caretaker is Lucille Fournier.",
        "Call 145 for the treasurer.",
        "The manager is Ines Paulsen.",
    ),
    LEASE: (
        "The rent is £9,600 a year.",
        "The lease ends on 1 April 2023.",
        "The lease ends on 31 March 2026.",
        "The deposit is 38,400 pounds.",
        "Northwind Sailing Ltd is the tenant, and Southwind Ltd has signed.",
    ),
    HALLS: (
        "The small hall holds 120 guests.",
        "A wedding in the large hall costs 900 euros.",
        "The small hall costs 1,150 euros a day.",
        "Ms Adler is the contact for the small hall.",
    ),
    INC: (
        "INC-0118 happened on 2 May 2024.",
        "The repair of INC-0118 took 5 hours.",
        "INC-0119 was a cut cable.",
        "INC-0117 was at Dock 7.",
        "INC-0117 happened on 12 May 2024.",
    ),
}  # fmt: skip


def context_of(source: str) -> Context:
    """All passages, of which `source` is the first."""
    texts = [source] if source in RIGHT_ROWS else [source, *(e for e in RIGHT if e != source)]
    return Context(tuple(passage(n, each, f"Text {n}") for n, each in enumerate(texts, start=1)))
