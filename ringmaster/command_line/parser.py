"""The parser of command lines: its options may go with some actions only."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, NoReturn

from ringmaster.errors import UsageError


class Parser(argparse.ArgumentParser):
    """Raises UsageError where argparse ends the program."""

    def __init__(self, *, usage: str, description: str, epilog: str) -> None:
        super().__init__("ringmaster", usage=usage, description=description, epilog=epilog)
        self._goes_with: dict[str, tuple[str, ...]] = {}

    def add_option(
        self,
        group: argparse._ActionsContainer,
        *names: str,
        actions: tuple[str, ...],
        **settings: Any,
    ) -> None:
        """Add an option that goes with these actions to a group of the help's."""
        self._goes_with[group.add_argument(*names, **settings).dest] = actions

    def read(self, argv: Sequence[str]) -> argparse.Namespace:
        """Return what a command line says.  Raises UsageError, for an option that does not
        go with the action, too, and SystemExit after --help and --version."""
        arguments = self.parse_intermixed_args(argv)
        for name, actions in self._goes_with.items():
            value = getattr(arguments, name)
            # 0 is a value
            given = value is not None and value is not False
            if given and arguments.action not in actions:
                *others, last = actions
                which = f"{', '.join(others)} and {last}" if others else last
                raise UsageError(f"--{name.replace('_', '-')} goes with {which}")
        return arguments

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}\n{self.format_usage()}".rstrip())
