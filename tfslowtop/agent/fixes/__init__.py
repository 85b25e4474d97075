"""Live fixes: changes inside the running program that the user switches on and off.

One module per fix. Nothing here acts unless the user asks; until then, a fix is an offer and costs nothing.
"""
