"""Webhooks: other programs are told what happens in the library (docs/adr/0056-webhooks.md).

events     -> what happens, told in its transaction (`ingestion.events`)
recording  -> a Delivery for each webhook that wants it, in the same transaction
sending    -> each delivery signed, sent to a checked address, repeated until it is accepted
"""
