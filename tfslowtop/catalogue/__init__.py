"""The scenarios: finding them, running their kernels, and showing the code of an iteration. What a scenario
file may use is in `tfslowtop.scenario`.
"""
