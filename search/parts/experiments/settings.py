"""The periodic analysis of experiments, and their page in the admin's menu."""

from django.utils.translation import gettext_lazy as _

# By task: seconds, queue.
PERIODIC_TASKS = {"search.parts.experiments.tasks.analyse": (180, "celery")}
# By entry of the admin's menu: title, model.
ADMIN_PAGES = [("Rankings", _("Experiments"), "experiments.experiment")]
