"""Command-line flags of the test engines.  argparse takes longer to import than such
an engine takes to start."""

from __future__ import annotations

import os
import sys

# for mypy only: importing `typing` takes a third of an engine's start
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

#: By name: the value's name ("" for a switch, "[N]" when it may be left out),
#: how to read it, the default, help.  A default that is a list collects values.
if TYPE_CHECKING:
    Table = dict[str, tuple[str, Callable[[str], Any], Any, str]]
else:
    Table = dict


def parse(argv: list[str], description: str, table: Table) -> dict[str, Any]:
    """Return the flags' values by name.  Prints the help, or what is wrong, and
    exits (status 0, 2)."""
    values = {
        name: list(default) if isinstance(default, list) else default
        for name, (_, _, default, _) in table.items()
    }
    words = list(argv)
    while words:
        word = words.pop(0)
        if word in ("-h", "--help"):
            print(usage(description, table))
            sys.exit(0)
        flag, equals, text = word.partition("=")
        name = flag.removeprefix("--")
        if flag == name or name not in table:
            _refuse(f"unknown flag {word}")
        metavar, convert, _, _ = table[name]
        value: Any = True
        if metavar and not equals:
            if words and not words[0].startswith("--"):
                text, equals = words.pop(0), "="
            elif not metavar.startswith("["):
                _refuse(f"{flag} needs {metavar}")
        if equals:
            if not metavar:
                _refuse(f"{flag} takes no value")
            try:
                value = convert(text)
            except ValueError as error:
                _refuse(f"{flag} {text}: {error}")
        if isinstance(values[name], list):
            values[name].append(value)
        else:
            values[name] = value
    return values


def usage(description: str, table: Table) -> str:
    """Return the text of --help."""
    import textwrap

    program = os.path.basename(sys.argv[0])
    lines = [f"usage: {program} [flags]", "", description.strip(), ""]
    for name, (metavar, _, _, help_text) in table.items():
        lines.append(f"  --{name} {metavar}".rstrip())
        lines += textwrap.wrap(help_text, 80, initial_indent=" " * 8, subsequent_indent=" " * 8)
    return "\n".join(lines)


def _refuse(message: str) -> None:
    sys.stderr.write(f"{os.path.basename(sys.argv[0])}: {message} (--help lists all)\n")
    sys.exit(2)
