"""An argument parser whose errors are one plain sentence."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from ..errors import UsageError
from ..suggestions import did_you_mean

#: argparse's own words for what people get wrong most often, and ours.
_PLAIN = (
    (re.compile(r"argument (?:-\w/)?(\S+): expected (?:one|at least one) argument"), r"\1 needs a value."),
    (re.compile(r"argument (?:-\w/)?(\S+): ignored explicit argument .*"), r"\1 takes no value."),
    (re.compile(r"argument (?:-\w/)?(\S+): (must be .*)"), r"\1 \2."),
)


class Parser(argparse.ArgumentParser):
    """Raises UsageError instead of printing the usage and exiting; suggests options for mistyped ones."""

    hint_for_rest: Callable[[argparse.Namespace, Sequence[str]], str] | None = None
    """Returns a better sentence than the usual one about arguments that nothing expects; empty for none."""

    def __init__(self, **settings: Any) -> None:
        settings = {"formatter_class": argparse.RawDescriptionHelpFormatter, **settings}
        super().__init__(allow_abbrev=False, **settings)

    def parse_known_args(  # type: ignore[override]  # the overloads differ only in the namespace's type
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        options, rest = super().parse_known_args(args, namespace)
        if rest:
            hint = self.hint_for_rest(options, rest) if self.hint_for_rest is not None else ""
            raise UsageError(hint or self._describe_rest(rest))
        return options, rest

    def error(self, message: str) -> NoReturn:
        for pattern, words in _PLAIN:
            if pattern.fullmatch(message):
                raise UsageError(pattern.sub(words, message))
        raise UsageError(f"{message[:1].upper()}{message[1:]}; see `{self.prog} --help`.")

    def _describe_rest(self, rest: Sequence[str]) -> str:
        option = next((word.partition("=")[0] for word in rest if word.startswith("-")), None)
        if option is None:
            return f"`{self.prog}` does not expect {rest[0]!r}; see `{self.prog} --help`."
        hint = did_you_mean(option, self.options, f"`{self.prog} --help` lists its options.")
        return f"`{self.prog}` has no option {option}; {hint}"

    @property
    def options(self) -> list[str]:
        """All long options."""
        return [name for name in self._option_string_actions if name.startswith("--")]
