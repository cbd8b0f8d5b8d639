"""Settings, from the environment only; .env.example lists every variable. No ranking numbers.

Without DATABASE_URL and REDIS_URL the embedded servers of `kbsite.embedded` are used.
"""

from kbsite.settings.accounts import *
from kbsite.settings.admin import *
from kbsite.settings.api import *
from kbsite.settings.environment import *
from kbsite.settings.ingestion import *
from kbsite.settings.parts import *
from kbsite.settings.schedule import *
from kbsite.settings.search import *
from kbsite.settings.servers import *
from kbsite.settings.site import *
