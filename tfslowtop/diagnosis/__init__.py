"""From what was measured to what is wrong: facts, detectors, findings in order of cost. Pure: it reads the
state and knows nothing about screens or processes.
"""
