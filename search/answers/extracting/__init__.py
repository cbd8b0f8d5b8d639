"""A2: the piece of the context that answers best, quoted exactly; needs no language model.

pieces   the parts of a passage, and those that make up the piece around one; pure
scoring  sentences of the context -> scores by words and meaning; pure
quotes   whether the best piece answers, the value that is asked for, and all of this: `extract`
"""
