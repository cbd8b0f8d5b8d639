"""Publishing: a draft becomes the active profile through the gate; rollback.

drafts_and_differences
              form -> draft; what changes between two profiles, and its entry in the audit
publications  the entry point: draft -> measurement -> gate -> active profile
gate_runs     the gate's settings, the runs that it needs, and the decision on their figures
gate          the rules of the decision (pure)
activation_and_rollback
              the change of the active profile, and back to an earlier one
"""
