"""The part “experiments”: two published profiles compared by real searchers, by sequential tests.

life_cycle        plans; start through the gate, interim analyses, end
mixing            the plan of a search in the running experiment: both profiles' rankings mixed
interleaving      who takes part; team-draft interleaving
outcomes          visitors' behaviour, analysed; the end of an experiment and the audit
sequential_test   preferences -> a verdict that holds at every analysis

One experiment runs at a time; a winner is not published automatically.
"""
