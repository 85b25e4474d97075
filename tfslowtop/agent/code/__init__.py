"""What can be learnt about the program's code and data: whose code a line is, which containers the program
holds, and which line fills them. Nothing here changes or calls the program.
"""
