"""Webhooks: notifications of other programs about events in the library (ADR 20).

events     -> signals within the transaction of the change (`ingestion.events`)
recording  -> a Delivery for each subscribed webhook, in the same transaction
sending    -> each delivery signed, sent to a checked address, repeated until it is accepted
"""
