"""Documents from web addresses: never from where a person outside could not fetch them, too.

networks, guard -> which addresses may be reached; read first
fetch           -> one address, its redirects followed, into a file
links, sitemap, robots, naming -> what a site says of its pages, and what they are
"""

from ingestion.intake.fetching.errors import (
    AddressRefused,
    FetchError,
    PauseWanted,
    RobotsRefused,
    TooLong,
)
from ingestion.intake.fetching.fetch import Admit, Fetched, Known, Policy, fetch
from ingestion.intake.fetching.guard import Guard, Rule, Target, read_rules, read_target
from ingestion.intake.fetching.links import Page, read_page
from ingestion.intake.fetching.naming import file_name
from ingestion.intake.fetching.robots import Robots
from ingestion.intake.fetching.sitemap import Sitemap, read_sitemap

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
