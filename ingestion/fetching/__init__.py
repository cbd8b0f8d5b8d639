"""Documents from web addresses: never from where a person outside could not fetch them, too.

networks, guard -> which addresses may be reached; read first
fetch           -> one address, its redirects followed, into a file
links, sitemap, robots, naming -> what a site says of its pages, and what they are
"""

from .errors import AddressRefused, FetchError, PauseWanted, RobotsRefused, TooLong
from .fetch import Admit, Fetched, Known, Policy, fetch
from .guard import Guard, Rule, Target, read_rules, read_target
from .links import Page, read_page
from .naming import file_name
from .robots import Robots
from .sitemap import Sitemap, read_sitemap

__all__ = [
    "AddressRefused",
    "Admit",
    "FetchError",
    "Fetched",
    "Guard",
    "Known",
    "Page",
    "PauseWanted",
    "Policy",
    "Robots",
    "RobotsRefused",
    "Rule",
    "Sitemap",
    "Target",
    "TooLong",
    "fetch",
    "file_name",
    "read_page",
    "read_rules",
    "read_sitemap",
    "read_target",
]
