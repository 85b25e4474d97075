"""Where things lie in this checkout."""

from __future__ import annotations

from pathlib import Path

HELPERS = Path(__file__).resolve().parent
TESTS = HELPERS.parent
ROOT = TESTS.parent
CORPUS = TESTS / "corpus" / "scripts"
"""Scripts as users write them, and what the diagnosis should say of each."""
RECORDINGS = TESTS / "corpus" / "recordings"
LOOPS = TESTS / "corpus" / "loops"
PROGRAMS = TESTS / "integration" / "scripts"
"""Programs that the integration tests run."""
