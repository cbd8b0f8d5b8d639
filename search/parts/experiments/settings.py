"""The periodic analysis of experiments, and their line in the admin."""

from django.utils.translation import gettext_lazy as _

# By task: seconds, queue.
PERIODIC_TASKS = {
    "search.parts.experiments.tasks.analyse": (180, "celery"),
    "search.parts.experiments.tasks.sweep": (30, "maintenance"),
}
ADMIN_LINES = [(_("Experiments"), "science", "experiments", "experiment")]
