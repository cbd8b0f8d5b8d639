"""The audit trail: who signed in, or failed to; who gave which right; what was exported, deleted.

`record` writes an event, `signals` most of them, `trail` exports them together with the log of the
admin, in which services note each change of a document, a collection or a profile.
"""
