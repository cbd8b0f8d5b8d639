"""Folders of the server that collections mirror: looked through every so often.

patterns  -> which paths count
comparing -> what is new, changed, back or missing; pure
scanning  -> one look through a folder, and what follows from it; read first
services  -> what people do: watch a folder, look now, confirm a large deletion
"""
