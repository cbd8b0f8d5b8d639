"""Documents from web addresses, restricted to addresses that anyone on the internet could fetch.

networks, guard -> which addresses may be connected to; read first
transport       -> connections to checked addresses, a deadline, bounded decompression
fetch           -> one address, its redirects followed, into a file
crawling        -> a site's robots.txt and sitemaps, the links of its pages
naming          -> the file name of a fetched page
"""

from ingestion.errors import AddressRefused, FetchError, PauseWanted, RobotsRefused, TooLong
from ingestion.intake.fetching.crawling import CrawledPage, Robots, Sitemap, read_page, read_sitemap
from ingestion.intake.fetching.fetch import Admit, Fetched, Policy, fetch, file_name
from ingestion.intake.fetching.guard import (
    MAX_URL_CHARS,
    Guard,
    Rule,
    Target,
    read_rules,
    read_target,
)
