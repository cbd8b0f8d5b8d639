"""Four books whose titles share their words: which of them is meant is in the title alone."""

from __future__ import annotations

PRACTITIONERS = """
# Machines that agree

A distributed system is a number of machines that a user takes for one. This book is for people
who keep such systems running: it begins with what fails, and how often.

## Failure is the normal case

A disk lasts four years, a data centre has a thousand disks, so one fails every day and a half.
Software that treats this as an error will be in error always. Plan for the failure of a part,
measure how long the whole takes to recover, and practise it in working hours.

## Agreement

Consensus is the problem of getting machines to agree on one value although some of them stop and
messages are lost. A majority has to answer. With five machines two may be away.

# Running it

## Time-outs

A time-out that is too short turns a slow answer into a failure; one that is too long lets a
failure spread. Take the slowest answer of an ordinary day and double it.
"""

CONFERENCE = """
# Distributed Computing Conference: proceedings

Short papers from two days of talks, on theory more than on practice.

## Lower bounds for leader election

In a ring of n processes that know only their neighbours, electing a leader takes on the order of
n log n messages. The paper shows the bound for rings that do not know their own size.

## Self-stabilising clocks

A system is self-stabilising if it comes to a correct state from any state whatever. The authors
give a clock that does so within two rounds.
"""

CONTINUOUS = """
# Continuous and Distributed Systems

Mathematics of systems whose state is a function and not a list of numbers: heat in a rod, a
vibrating string, traffic on a road. Here a system is distributed in space; computers hardly
appear.

## Equations in space and time

The heat equation ties the change in time at a point to the curvature in space around it. Where
the rod is cut into pieces, the equation becomes one for each piece, and a computer can solve it.

## Control

A heater at one end controls the whole rod, but slowly: the far end answers after a delay that
grows with the square of the length.
"""

UNDERSTANDING = """
# Understanding distributed systems

An introduction for programmers who have written for one machine so far.

## Calling another machine

A call over the network may be lost, arrive twice, or be answered after the caller gave up. Give
each request a number, and let the receiver remember the numbers it has seen: then doing it twice
does no harm.

## Copies of data

Copies make reading faster and writing harder. Either a reader may see an old value, or a writer
has to wait for all copies: choose by what the user will notice.

## Knowing what happens

Logs tell what one machine did. A trace follows one request through all of them and is the first
thing to build.
"""

# An empty title: it is then taken from the file name, without what follows " -- ".
BOOKS: dict[str, tuple[str, str]] = {
    "Distributed Systems for practitioners -- Author.pdf": ("", PRACTITIONERS),
    "Distributed Computing Conference.pdf": ("", CONFERENCE),
    "Continuous and Distributed Systems.pdf": ("", CONTINUOUS),
    "Understanding Distributed Systems.pdf": ("", UNDERSTANDING),
}
