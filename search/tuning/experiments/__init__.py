"""Experiments: two published profiles compared by real searchers, with sequential tests.

    planning        create, edit and delete plans
    running         start through the gate, interim analyses, end
    assignment      of visitors to arms; team-draft interleaving
    participation   the part that a search takes in the running experiment
    outcomes        visitors' behaviour, analysed; the end of an experiment and the audit
    conclusion      outcomes -> a verdict with its figures and sentence (sequential)

One experiment runs at a time; a winner is not published automatically.
"""
