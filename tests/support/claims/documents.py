"""Texts of our own with figures, dates, names and identifiers."""

from __future__ import annotations

import re
from pathlib import Path

SAMPLES = Path(__file__).parents[3] / "kbsite" / "demo" / "samples"

_OWN = {
    "Harbour of Velm": """\
The harbour of Velm was dredged to 14 metres in 1987, and ships of up to 90,000 tonnes have \
called there since. Marta Ilsen, who led the works, had planned for 12 metres at first. The \
northern quay has eight cranes; the largest of them lifts 65 tonnes. A pilot is required for \
every ship that is longer than 80 metres. The harbour office is open from 6:30 to 22:00 on \
weekdays and closes at noon on Saturday. In March 2019 a storm damaged three cranes, and repairs \
cost 4.2 million euros.

Fishing boats pay no fee between 1 May and 30 September. The fee for cargo is 0.35 euros per \
tonne, and it rises by 2 percent each January. Tugs of the company Brandt & Sohn assist at low \
tide.""",
    "Backups of the archive": """\
A full backup runs every Sunday at 02:15 and takes about 40 minutes. Incremental backups run \
each hour and are kept for 14 days. The server arch-07 holds the copies; its disks have 12 TB. \
Backups are encrypted with a key that never leaves the vault. The script nightly_copy.sh writes \
a report to /var/log/copies.log, and an empty report means that nothing was copied. Restoring a \
single file needs version 3.2 of the client or a later one. Error E2041 says that the vault is \
locked.

Full backups are kept for 90 days. The retention is set by KEEP_DAYS, whose minimum is 7. A \
restore of the whole archive was last tested by Jonas Weber on 18 October 2023 and took 5 hours.""",
    "The Larkfield orchard": """\
The orchard at Larkfield has 1,250 trees on 6 hectares. Most of them are of the variety Amber \
Lane, which ripens in late August. Helen Mayhew planted the first 300 trees in 1952 with her \
brother Thomas. Bees are brought in by Orla Finch for about three weeks. Frost below −2 °C in \
April destroys the blossom, so that fans are started when the thermometer shows 1 °C. About 70% \
of the crop is pressed for juice, and the rest is sold in boxes of 10 kg.

The cider press was bought second-hand from a farm in Hereford for 3,800 pounds. It presses half \
a tonne an hour. Visitors are not allowed in the press room while it runs.""",
    "Rail line 7": """\
Line 7 runs from Osterby to Kallund over 43 km and has eleven stations. It was opened on 4 June \
1911 by the engineer Nils Aker. Trains reach 120 km/h north of Hamra and 80 km/h south of it. \
The tunnel under Mount Skarn is 2.7 km long and was finished two years after the bridge. A \
ticket for the whole line costs 9.50 euros, and children under six travel free. The timetable \
gives a train every 20 minutes until 21:00.

Signal box SB-118 was replaced in 2016. The old lever frame is shown in the museum at Hamra, \
which is closed on Mondays. In 2022 the line carried 3.4 million passengers, 6 percent more than \
in the year before.""",
    "Sensor module TX-30": """\
The sensor module TX-30 measures humidity and temperature every 15 seconds. It accepts 5 V to 24 \
V and draws 80 mA at most. The older module TX-20 has no display and does not support Bluetooth. \
Readings are sent as JSON to the address in module.toml. The range is 60 metres indoors and 200 \
metres in the open. Firmware 2.10 enabled the low-power mode, which version 2.1 lacked. The \
housing is waterproof according to IP67.

The warranty is 24 months. A reading below 3 percent humidity is rejected as invalid. Calibrate \
the module once a year with kit CK-9; the kit contains four salts.""",
    "Minutes of the housing board": """\
The board met on Tuesday 12 March 2024 with nine of its eleven members. Ruth Adeyemi was elected \
chair with 6 votes to 3. The rent of the workshop rises from 410 to 450 euros a month from July. \
The proposal to sell the garden was rejected. Peter Lindqvist reported that 17 flats still have \
single windows. The lift inspection of 8 February found no defects. Dr. Amara Nwosu will audit \
the accounts before 30 June.

The reserve stands at 128,000 euros. Each member may propose two items until ten days before a \
meeting. The next meeting takes place in the hall of Saint Olaf school.""",
    "Bread course": """\
The dough rests for twelve hours at 18 °C. It contains 500 g of flour, 350 ml of water and 10 g \
of salt. Knead it before it rests and fold it three times after that. Rye flour absorbs more \
water than wheat flour. The oven is heated to 250 °C, and the loaf bakes for 45 minutes with the \
lid closed. Never cut the loaf while it is hot. Clara Benedetti, who teaches the course, has \
baked since 1994.

The second course costs 65 euros and includes lunch. At most 8 people take part. Bring an apron \
and a clean towel.""",
    "Wartung der Heizung": """\
Die Heizung wird jedes Jahr im September gewartet. Der Kessel K-450 hat eine Leistung von 24 kW \
und wurde 2015 eingebaut. Der Druck der Anlage liegt zwischen 1,5 und 2 bar. Bei einer Störung \
leuchtet die rote Lampe, und die Pumpe schaltet nach drei Minuten ab. Der Filter wird alle sechs \
Monate gereinigt. Das Ventil darf nicht ohne Werkzeug geöffnet werden. Frau Krüger hat die \
Anlage am 3. Mai 2021 abgenommen.

Der Tank fasst 3.000 Liter. Die Kosten der Wartung betragen 180 Euro. Mieter melden Störungen an \
Herrn Yilmaz.""",
    "Chess club rules": """\
The club plays on Thursdays from 19:30. Each player has 90 minutes for 40 moves and 30 minutes \
for the rest. Who arrives more than 30 minutes late loses the game. Draws may not be offered \
before move 20. Irina Solberg won the championship in 2018 and again in 2021. The youngest \
member, Tobias Kern, is 11 years old. The fee is 48 euros a year; students pay half.

The team plays in the second league. Phones must be switched off. Article 4.3 says that a \
touched piece has to be moved.""",
}


def own_documents() -> dict[str, list[str]]:
    """The paragraphs of each document by its title: ours, the demo's and the tests' own."""
    found = {title: text.split("\n\n") for title, text in _OWN.items()}
    for name in ("toolbox-talk", "robotics-glossary", "vectorstore"):
        text = (SAMPLES / f"{name}.md").read_text()
        title = re.search(r'title: "(.*)"', text)
        assert title
        body = text.split("---", 2)[2]
        parts = [each for each in body.split("\n\n") if len(each) > 80 and "```" not in each]
        found[title[1]] = [" ".join(each.split()) for each in parts]
    for name in ("incident-register-2024", "creatures"):
        html = (SAMPLES / f"{name}.html").read_text()
        parts = [re.sub(r"<[^>]+>", " ", each) for each in re.findall(r"(?s)<p>(.*?)</p>", html)]
        heads = re.findall(r"(?s)<h1>(.*?)</h1>", html)
        found[heads[0]] = [" ".join(each.split()) for each in parts if len(each) > 60]
    return found
