"""Experiments: two published profiles compared by real searchers, with sequential tests.

    planning        create, edit and delete plans
    running         start through the gate, interim analyses, end; the part that a search takes in
                    the running experiment
    assignment      of visitors to arms; team-draft interleaving
    outcomes        visitors' behaviour, analysed; the end of an experiment and the audit
    conclusion      outcomes -> a verdict with its figures and sentence, by sequential tests

One experiment runs at a time; a winner is not published automatically.
"""
