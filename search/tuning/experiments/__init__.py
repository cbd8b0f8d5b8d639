"""W: two published profiles before real searchers, and when one of them may be called better.

    planning        which two, how they are compared, for how long
    arms            the one that runs, as a search meets it
    running         started behind the gate, looked at, ended
    assignment      which visitor takes part, and in which arm
    interleaving    two rankings drafted into one, and whose pick a visitor prefers
    looking         what its visitors have done by now
    telling         that -> a verdict, by sequential tests (sequential)
    ending          its end, and the audit

One experiment at a time; a winner is not published by itself.
"""
