"""Where events come from: a scenario, a script, this process, a recording. Each is a `Source`: events out,
commands in. What the events mean is the job of `state`.
"""
