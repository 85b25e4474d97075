"""What can be learnt about the program's code and data: who owns a line, which containers grow, and which
line fills them. Nothing here changes the program or runs any of its code. What its calls do is in `hooks`.
"""
