"""Publishing: a draft becomes the active profile through the gate; rollback.

drafts        form -> draft
publications  the entry point: draft -> measurement -> gate -> active profile
gate_runs     the gate's settings, the runs that it needs, and the decision on their figures
gate          the rules of the decision (pure)
activation    the change of the active profile, and rollback to an earlier one, with the audit
"""
