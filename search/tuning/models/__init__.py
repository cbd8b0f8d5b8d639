"""Golden queries, evaluation runs, publications, and the audit of profiles."""

from search.tuning.models.experiments import EvaluationRun, Optimisation, QualityRun
from search.tuning.models.golden import CandidatePool, GoldenQuery, Judgement, PoolBuild
from search.tuning.models.publishing import (
    ProfileChange,
    Publication,
    PublishGate,
)
