"""The collection that Steelyard writes itself: small documents with names worth looking up.

They hold the cases that the systems before it were built for: identifiers beside near misses,
titles that share words, abbreviations beside what they stand for. The texts are our own; no
regulation, rule book or manual is quoted.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from ingestion.domain import Block, BlockKind
from kbsite.demo.books import BOOKS
from kbsite.demo.rendering import RENDERERS
from kbsite.demo.sources import SourceFile


def samples() -> list[SourceFile]:
    """The files, the same bytes every time."""
    return [
        SourceFile(name, f"samples/{name}", RENDERERS[PurePosixPath(name).suffix](title, blocks))
        for name, (title, text) in (TEXTS | BOOKS).items()
        if (blocks := list(blocks_of(text)))
    ]


def blocks_of(text: str) -> Iterator[Block]:
    """The blocks of a text in our own short notation: `#` headings, `-` items, `|` rows, code."""
    for part in text.strip().split("\n\n"):
        part = part.strip("\n")
        marks = len(part) - len(part.lstrip("#"))
        if marks:
            yield Block(BlockKind.HEADING, part[marks:].strip(), level=marks)
        elif part.startswith("- "):
            for line in part.split("\n- "):
                yield Block(BlockKind.LIST_ITEM, " ".join(line.removeprefix("- ").split()))
        elif part.startswith("|"):
            rows = [[cell.strip() for cell in row[1:].split("|")] for row in part.split("\n")]
            yield Block.table(rows, has_header=True)
        elif part.startswith("    "):
            yield Block(BlockKind.CODE, "\n".join(line[4:] for line in part.split("\n")))
        else:
            yield Block(BlockKind.PARAGRAPH, " ".join(part.split()))


SURVEY = """
# Survey of the northern ridge

The ridge was walked in two seasons. Each stretch has a number of its own, so that a report can
say where a marker stands without drawing a map.

## Region D40

Region D40 lies between the second bend of the stream and the old weir. The ground is firm clay
with a thin layer of gravel. Two fixed markers stand here; the eastern one was replaced after
frost had lifted it by a hand's width. Nothing may be driven across Region D40 from November to
March, because the clay softens.

## Region D41

Region D41 follows on the far side of the weir. It is wetter than its neighbour and has no fixed
markers: heights are taken from the weir's crest. A footbridge crosses the stream in the middle.

## Area D

Area D is the name on older maps for everything north of the weir. It was divided into numbered
regions in the second season, and reports should no longer use it. Where an old report says
Area D, the stretch is to be found from the height it gives.

## Markers

| Region | Markers | Height (m) | Last visit
| D39 | 3 | 412 | May
| D40 | 2 | 418 | September
| D41 | 0 | 415 | September
"""

CREATURES = """
# Creatures of the sunken city

Notes for whoever tells the story. The figures are for a party of five.

## Aboleth

An aboleth is older than the lake it lives in. It looks like an eel the length of a barge, with
three eyes one above the other, and remembers everything that any aboleth ever saw. It does not
hunt; it persuades, and those who listen forget that they came to leave.

| Aboleth | Value
| Size | Huge, in water only
| Guard | 17
| Endurance | 140
| Speed | walks 2, swims 12
| Will | 9
| Weakness | dries out within an hour on land

- Old memory: once a scene, it knows one true thing about a person whose voice it has heard.
- Call from below: everyone in the water tests Will or swims one length towards it.
- Slime: whoever touches it breathes only water until the next dawn.

## Drowned clerk

A clerk who kept the city's registers and still does. Harmless until a page is torn. It answers
any question about the city's dates, and asks for a name to write down in exchange.

## Lamp crab

Lamp crabs carry a light that can be seen from the surface. Fishers follow them to good grounds;
divers who follow them too far meet the aboleth.
"""

MINES = """
# Machinery underground: what the rules ask for

A summary in our own words for shift leaders, of what a rule is about. It does not replace the
rule's text.

## 30 CFR 75.1725 Machinery and equipment; operation and maintenance

The rule asks for four things. Machines, whether they move or stand, must be kept in a safe
condition, and one that is not safe must be taken out of use at once. Nobody may repair or
service a machine while it can move: the power is off and the machine is blocked against motion,
except where motion is needed to make an adjustment. Belts and pulleys are not cleaned by hand
while they run. Lubricating a running machine is allowed only from a place that keeps hands away
from its moving parts.

## 30 CFR 75.1722 Mechanical equipment guards

Gears, sprockets, chains, pulleys and shafts that a person might touch have to be guarded, and
the guards stay in place while the machine runs, unless it is being tested.

## 30 CFR 75.1100 Fire protection

Water lines, extinguishers and rock dust are to be kept where a fire hazard exists, so that a
fire can be fought within minutes. Coal dust on hot bearings is the fire hazard met most often,
and cleaning it away is part of every shift.

## Who answers

Safety requirements bind the operator first. A shift leader who sees an unsafe machine stops it
and reports it before the shift ends.
"""

TALK = """
# Toolbox talk: why we stop the belt

Somebody asked again about 30 CFR 75.1725, so here is the talk about 30 CFR 75.1725 once more.
You have heard the number 30 CFR 75.1725 often enough to be tired of it. The belt stops, then we
clean. Not the other way round. If you remember one thing of 30 CFR 75.1725, remember that.

## Questions from the crew

Does it cost time? Yes, four minutes. Does a guard make it unnecessary? No. Who may start the
belt again? Whoever locked it out, and nobody else.
"""

INCIDENTS = """
# Register of incidents 2024

Every incident has a number that never changes. The first letters say what kind it is: PII where
personal data was involved, INC otherwise.

## PII-2024-0042

A list with the addresses of 318 customers was sent to the wrong supplier on 12 March. The
supplier deleted it the same day and confirmed so in writing. The mailing tool now shows the
recipient's company before it sends. Closed on 2 April.

## PII-2024-0043

A visitor book with names lay open at the reception over a weekend. It was replaced with cards.
Nobody is known to have read it. Closed on 19 March.

## INC-2024-0042

The cooling of rack 7 failed for eleven minutes. A fan had been connected to the supply of its
neighbour. No data was lost. Same number as an incident with personal data, another kind.

## INC-2024-0117

The part A-1312/B of the goods lift broke under a load within its limit. All lifts with this part
were checked, and two were found with hairline cracks. The maker replaces A-1312/B by A-1312/C.
"""

GLOSSARY = """
# Robotics glossary

## SLAM

Simultaneous localization and mapping: a robot draws a map of a place it does not know while it
works out where on that map it stands. The two need each other, which is what makes SLAM hard.

## EKF

Extended Kalman filter: an estimate of a state and its uncertainty, kept up to date with each
measurement. The EKF replaces a curved model by a straight one around the present estimate. It is
the usual tool for sensor fusion: wheel turns, a gyroscope and a camera are weighed by how much
each is to be trusted at the moment.

## FK

Forward kinematics: from the angles of a robot arm's joints to the place and direction of its
hand. The FK calculation multiplies one transformation a joint, from the base to the end
effector, and always has exactly one answer.

## IK

Inverse kinematics: from the place where the hand should be to the angles of the joints. There may
be no answer, one, or many.

## DOF

Degrees of freedom: how many ways a mechanism can move on its own account. An arm needs six to
reach any place in any direction.
"""

VECTORSTORE = """
# The VectorStore interface

A VectorStore keeps vectors with the text they stand for and returns those nearest to a question.
Everything that searches by meaning goes through VectorStore, so that a store in memory can stand
in for the real one in tests.

## Methods

    interface VectorStore {
      add(items: Item[]): Promise<void>;
      search(vector: number[], limit: number): Promise<Match[]>;
      remove(ids: string[]): Promise<void>;
    }

- add stores items; an id that is known is replaced.
- search returns at most limit matches, the nearest first, each with its distance.
- remove ignores ids that are not known.

## Hybrid search

Hybrid search asks the VectorStore and a keyword index the same question and adds up their
scores, each with a weight. The weights decide whether an exact name or a similar meaning wins.

## Architecture

Three layers: the interface, one adapter for each store, and a cache in front. An adapter knows
its store and nothing else, so that a change of store touches one file.
"""

ROS2 = """
# Writing a ROS2 node in C++

A node is the unit that takes part in a ROS2 system: it publishes, subscribes and offers services.

## The class rclcpp::Node

Derive from `rclcpp::Node` and give the node its name in the constructor. A timer of the node
calls back in the thread that spins it.

    #include "rclcpp/rclcpp.hpp"
    class Heartbeat : public rclcpp::Node {
    public:
      Heartbeat() : rclcpp::Node("heartbeat") {
        timer_ = create_wall_timer(std::chrono::seconds(1), [this]() { count_ += 1; });
      }
    private:
      rclcpp::TimerBase::SharedPtr timer_;
      int count_ = 0;
    };

## Spinning

`rclcpp::spin` hands the thread to the node until the program is told to end. A callback that
takes long keeps the others waiting: use an executor with several threads then.
"""

# File name -> title and text. The title goes into the file's own metadata.
TEXTS: dict[str, tuple[str, str]] = {
    "survey-northern-ridge.docx": ("Survey of the northern ridge", SURVEY),
    "creatures.html": ("Creatures of the sunken city", CREATURES),
    "machinery-underground.docx": ("Machinery underground", MINES),
    "toolbox-talk.md": ("Toolbox talk: why we stop the belt", TALK),
    "incident-register-2024.html": ("Register of incidents 2024", INCIDENTS),
    "robotics-glossary.md": ("Robotics glossary", GLOSSARY),
    "vectorstore.md": ("The VectorStore interface", VECTORSTORE),
    "ros2-node.md": ("Writing a ROS2 node in C++", ROS2),
}
