"""`tfslowtop whatif`: tries what findings advise, in the running script and on patched copies of it."""

from __future__ import annotations

from .whatif import WhatIf as WhatIf
