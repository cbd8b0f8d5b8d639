"""What searchers do: their searches recorded, what failed among them, and who is told.

`recording` writes an event a search, `interactions` what was done with it, `gathering` finds the
gaps in both, `gaps` is what administrators do about them, `privacy` forgets.
"""
