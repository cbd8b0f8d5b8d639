"""The part “experiments”: two published profiles compared by real searchers, by sequential tests.

running         plans; start through the gate, interim analyses, end
interleaving    who takes part; team-draft interleaving; preferences -> a verdict
mixing          the plan of a search in the running experiment: both rankings interleaved
outcomes        visitors' behaviour, analysed; the end of an experiment and the audit

One experiment runs at a time; a winner is not published automatically. The rows are tuning's
(`search.tuning.models.Experiment`): a site without the part keeps them.
"""


def register() -> None:
    """Register the plan of searches and the admin, and end an experiment when a profile changes."""
    from search.engine import configuration
    from search.engine.read import register_planner
    from search.parts.experiments import admin  # noqa: F401 -- registers the pages
    from search.parts.experiments.mixing import plan_of, running_experiment
    from search.parts.experiments.outcomes import finish_running
    from search.tuning.publishing.activation import activated

    configuration.register_experiments(running_experiment)
    register_planner(plan_of)
    activated.connect(finish_running)
