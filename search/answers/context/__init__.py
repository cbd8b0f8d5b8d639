"""A1: candidates -> the passages that an answer may stand on, under a token budget. Pure.

pieces    chunks, and runs of neighbouring ones joined to one passage
assembly  `assemble`: the runs chosen, grown, in reading order
"""
