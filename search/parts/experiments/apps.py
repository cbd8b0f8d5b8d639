"""The part as a Django app."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ExperimentsPart(AppConfig):
    name = "search.parts.experiments"
    verbose_name = _("Experiments")

    def ready(self) -> None:
        from search.engine import configuration
        from search.engine.read import register_planner
        from search.parts.experiments import mixing
        from search.parts.experiments.outcomes import finish_running
        from search.tuning.activation import activated
        from search.tuning.install_defaults import register_model

        configuration.register_experiments(mixing.running_experiment)
        register_planner(mixing.plan_of)
        activated.connect(finish_running)
        register_model("experiments.experiment")
