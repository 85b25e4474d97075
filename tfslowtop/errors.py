"""Errors that are not bugs: the user can do something about them."""

from __future__ import annotations


class UserError(Exception):
    """Something the user can fix, as one plain sentence with the next thing to do."""

    multiline = False
    """Whether the text may keep its line breaks, as a syntax error shown the way Python shows it."""


class UsageError(UserError):
    """A command line that makes no sense."""
