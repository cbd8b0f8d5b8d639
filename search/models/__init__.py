"""The tables that configure ranking: profiles, their scopes, classifier rules, pins, ..."""

from search.models.configuration_stamp import ConfigurationStamp
from search.models.curated import Hide, Pin, SpaceBackground, Synonym
from search.models.profiles import ClassWeights, SearchProfile
from search.models.rules import QUERY_CLASSES, ClassRule
from search.models.scopes import ScopeProfile
