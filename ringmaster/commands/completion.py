"""Complete words of the command line in a shell, by argcomplete: the verb `completion` prints
the shell's script, which starts the program with `_ARGCOMPLETE` set."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from argcomplete.completers import ChoicesCompleter
from argcomplete.finders import CompletionFinder
from argcomplete.lexers import split_line
from argcomplete.shell_integration import shellcode

from ringmaster.commands.command_line import make_parser, split
from ringmaster.commands.console import DONE, say
from ringmaster.commands.options import SHELLS, Argument, Verb, verbs
from ringmaster.errors import UsageError, nearest


def completion(arguments: argparse.Namespace) -> int:
    """Print the script of a shell.  Raises UsageError."""
    if arguments.shell not in SHELLS:
        raise UsageError(
            f"there is no completion for {arguments.shell!r}; expected "
            + nearest(arguments.shell, SHELLS)
        )
    # without `-o default`, bash does not offer files where a number is expected
    options = ["-o", "nospace"]
    say(shellcode(["ringmaster"], shell=arguments.shell, complete_arguments=options))
    return DONE


def complete() -> None:
    """Print the completions of the word at the cursor to the shell's script, and exit."""
    line = os.environ["COMP_LINE"]
    words = split_line(line, int(os.environ["COMP_POINT"]))[3]
    CompletionFinder()(
        parser_for(words[1:]),
        always_complete_options=False,
        default_completer=ChoicesCompleter({}),
    )


def parser_for(words: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser whose next positional argument, and whose options, may follow words."""
    try:
        given = split(words).words
    except UsageError:
        # the value at the cursor is missing
        given = split(words[:-1]).words
    of_file = [verb for verb in verbs() if verb.has_control_file]
    named = [verb for verb in verbs() if verb.name in given[:1]]
    if named:
        # of two verbs with one name, the one for any files
        parser = _parser_of(named[-1])
        _positional(parser, "verb", _words(named))
        for argument in named[-1].arguments:
            _positional(parser, argument.key, _values_of(argument), argument.nargs)
        return parser
    after = [verb for verb in of_file if verb.name in given[1:2]] or of_file
    parser = _parser_of(next((verb for verb in after if verb.name == "run"), after[0]))
    if given:
        _positional(parser, "file", _files)
        _positional(parser, "verb", _words(of_file))
    else:
        parser.add_argument("--version", action="store_true", help="print the version")
        of_all = _words(verbs())
        _positional(parser, "first", lambda prefix, **_: {**of_all(prefix), **_ctl(prefix)})
    return parser


#: Called by argcomplete with the beginning of a word; zsh and fish print the texts.
Completer = Callable[..., dict[str, str]]


def _parser_of(verb: Verb) -> argparse.ArgumentParser:
    """Return a parser of a verb's options."""
    parser = argparse.ArgumentParser("ringmaster", add_help=False, allow_abbrev=False)
    for action in make_parser(verb)._actions:
        if action.option_strings:
            parser._add_action(action)
            if action.metavar in ("FILE", "COMMAND"):
                action.completer = _files  # type: ignore[attr-defined]
    return parser


def _positional(
    parser: argparse.ArgumentParser, key: str, complete: Completer, nargs: str | None = None
) -> None:
    action = parser.add_argument(key, nargs=nargs)
    action.completer = complete  # type: ignore[attr-defined]


def _values_of(argument: Argument) -> Completer:
    if argument.key == "control_file":
        return _ctl
    if argument.choices is None:
        return _files
    choices = argument.choices()
    return lambda prefix, **context: dict.fromkeys(choices, "")


def _words(known: Iterable[Verb]) -> Completer:
    return lambda prefix, **context: {verb.name: verb.help for verb in known}


def _ctl(prefix: str, **context: Any) -> dict[str, str]:
    """Return folders and control files."""
    return {name: kind for name, kind in _files(prefix).items() if name.endswith((".ctl", "/"))}


def _files(prefix: str, **context: Any) -> dict[str, str]:
    folder, beginning = os.path.split(prefix)
    try:
        entries = list(os.scandir(os.path.expanduser(folder) or "."))
    except OSError:
        return {}
    files = {}
    for entry in entries:
        # a hidden file after its dot only
        if beginning or not entry.name.startswith("."):
            path = os.path.join(folder, entry.name)
            files[path + "/" * entry.is_dir()] = "folder" if entry.is_dir() else "file"
    return files
