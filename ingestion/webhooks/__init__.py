"""Webhooks: other programs are told what happens in the library (ADR 20).

events     -> what happens, told in its transaction (`ingestion.events`)
recording  -> a Delivery for each webhook that wants it, in the same transaction
sending    -> each delivery signed, sent to a checked address, repeated until it is accepted
"""
