"""What the API shows, area by area."""

from search.api.serializers.golden import (
    GoldenQuerySerializer,
    GradeSerializer,
    JudgementSerializer,
    SlugsField,
    shown_queries,
)
from search.api.serializers.profiles import (
    CLASSES,
    SIGNALS,
    ProfileNameSerializer,
    ProfileSerializer,
)
from search.api.serializers.searches import SearchResponseSerializer

__all__ = [
    "CLASSES",
    "SIGNALS",
    "GoldenQuerySerializer",
    "GradeSerializer",
    "JudgementSerializer",
    "ProfileNameSerializer",
    "ProfileSerializer",
    "SearchResponseSerializer",
    "SlugsField",
    "shown_queries",
]
