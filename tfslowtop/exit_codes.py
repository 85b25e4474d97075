"""The exit codes of every command. With --attach, the script's own exit code takes their place."""

from __future__ import annotations

SUCCESS = 0
#: A scenario failed, `check` found a limit exceeded, or standard output could not be written.
FAILED = 1
#: Wrong usage: nothing was started.
USAGE = 2
#: `check` has nothing to judge: the script itself failed, or no step was seen in it.
NOT_JUDGED = 3
#: A bug in tfslowtop, whatever the script did: EX_SOFTWARE of sysexits.h.
OWN_ERROR = 70
#: Ctrl-C, as a shell reports it.
INTERRUPTED = 130
