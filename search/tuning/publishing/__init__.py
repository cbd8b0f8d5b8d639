"""Publishing: a draft becomes the active profile through the gate; rollback.

drafts        form -> draft
publications  the entry point: draft -> measurement -> gate -> active profile
gate          the decision (pure); gate_inputs has its settings and measurements
activation    the change of the active profile, and rollback to an earlier one, with the audit
"""
