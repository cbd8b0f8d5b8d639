"""A part of another project: a signal that prefers short passages."""

SIGNALS = {"brevity": {"is_optional": True, "scores_all": True}}
