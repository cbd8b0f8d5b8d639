"""Text -> canonical identifiers (docs/adr/0002). Pure: no Django, no I/O.

An identifier names one thing and has a form that a pattern can distinguish from prose:
`D-40`, `30 CFR 75.1725`, `rclcpp::Node`, `settings.py`. Proper nouns and acronyms (Aboleth,
SLAM) have no such form: they are terms, and the keyword signal finds them.

Read in this order: `expressions` (which never take long), `patterns` (forms to recognise),
`normalisers` (canonical spellings), `finding` (identifiers of texts and queries, stored forms,
matches), `checking` (validation of an administrator's patterns).
"""

from ingestion.identifiers.checking import check_pattern, overlaps, regex_problems
from ingestion.identifiers.expressions import UnsafeExpression, expression, matches
from ingestion.identifiers.finding import (
    Form,
    Mention,
    Place,
    find_identifiers,
    index_forms,
    is_single_identifier,
    placed_forms,
    query_identifiers,
)
from ingestion.identifiers.normalisers import NORMALISERS, Normaliser
from ingestion.identifiers.patterns import DEFAULT_PATTERNS, Pattern
