"""A collection's export: what search adds to the archive, and a read-only server of it.

rows   -> pins, golden queries, judgements and the profile, as parts of the archive
server -> the folder with everything that the server needs, its profile, the refusal of changes
"""
