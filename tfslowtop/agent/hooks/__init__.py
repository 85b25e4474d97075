"""One file per thing watched. A hook that does not find its place switches itself off with a note."""

from __future__ import annotations
