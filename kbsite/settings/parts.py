"""The settings that optional parts of the search bring (`settings.py` of their packages)."""

from __future__ import annotations

from common import parts
from kbsite.settings.environment import env

# The optional parts that the site has; without the variable all that are installed.
SEARCH_PARTS = env.list("SEARCH_PARTS", default=[*parts.installed()])

_modules = [*parts.modules_of(SEARCH_PARTS, "settings")]
for _module in _modules:
    globals().update({name: each for name, each in vars(_module).items() if name.isupper()})

PART_TASKS = {
    task: period
    for module in _modules
    for task, period in getattr(module, "PERIODIC_TASKS", {}).items()
}
PART_PAGES = [page for module in _modules for page in getattr(module, "ADMIN_PAGES", ())]
