"""The command line, for `python -m tfslowtop`."""

import sys

from .commands.main import main

if __name__ == "__main__":
    sys.exit(main())
