"""Attribution by a model: it reads the whole trajectory in parts, and gives each wrong claim one verdict.

What the signals prove is not asked about. Whatever a model cites is looked up in the trajectory: a step that
does not exist, or does not say what is quoted, is refused.
"""
