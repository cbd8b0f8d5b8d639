"""Golden queries, evaluation runs, publications, experiments, and the audit of profiles."""

from search.tuning.models.experiments import (
    Alert,
    EvaluationRun,
    Experiment,
    Optimisation,
    QualityRun,
)
from search.tuning.models.golden import (
    CandidatePool,
    GoldenQuery,
    Judgement,
    JudgementAction,
    PoolBuild,
)
from search.tuning.models.publishing import ProfileChange, ProfileTargets, Publication, PublishGate
