"""The audit trail: who signed in, or failed to; who gave which right; what was exported, deleted.

`trail` records events and exports them together with the log of the admin, in which services note
each change, and with the histories that other apps register. Receivers of signals cause most.
"""
