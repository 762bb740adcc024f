"""Read a command line by the tables of `options`, and print help."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn

import ringmaster
from ringmaster.commands.console import say
from ringmaster.commands.options import (
    ELSEWHERE,
    OPTIONS,
    VERBS,
    Option,
    Verb,
    verb_names,
    verbs,
)
from ringmaster.commands.values import Value
from ringmaster.errors import UsageError, similar

DESCRIPTION = "Play and tune game engines (chess, Go, shogi) from a control file."
USAGE = ("VERB FILE.ctl [OPTIONS]", "FILE.ctl [VERB] [OPTIONS]")
EXAMPLES = {
    "ringmaster new chess playoff my.ctl": "write a control file",
    "ringmaster run my.ctl -j 2": "play two games at a time, or resume",
    "ringmaster show my.ctl": "print the results",
}
#: For the help and the man page.
NOTES = (
    "Options may stand anywhere. A control file with the name of a verb: ./run.",
    "`ringmaster help VERB` prints the options of a verb.",
)


def read(argv: Sequence[str]) -> tuple[Verb, argparse.Namespace]:
    """Return the verb of a command line, and its arguments and options.

    Raises UsageError, and SystemExit after printed help.
    """
    name, *words = argv
    verb = next((verb for verb in verbs() if verb.verbatim and verb.name == name), None)
    if verb is not None and words[:1] not in (["-h"], ["--help"]):
        return verb, argparse.Namespace(words=words)
    line = split(argv)
    if "--version" in line.names:
        say(f"ringmaster {ringmaster.__version__}\n")
        raise SystemExit(0)
    if line.words[:1] == ["help"] or {"-h", "--help"} & set(line.names):
        say(_help(line.words))
        raise SystemExit(0)
    _refuse_unknown(line)
    verb, words = _find_verb(line.words)
    _refuse_foreign(line, verb)
    separated = [*line.options, "--", *words] if words else line.options
    return verb, make_parser(verb).parse_args(separated)


# Words


class CommandLine(NamedTuple):
    """A command line in parts.

    words    words outside of options
    options  options with their values, for argparse
    names    options as they were written, without values
    """

    words: list[str]
    options: list[str]
    names: list[str]


def split(argv: Sequence[str]) -> CommandLine:
    """Separate options, of any verb, from other words.  Raises UsageError for a missing value."""
    line = CommandLine([], [], [])
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        if word == "--":
            line.words.extend(rest)
            break
        if word == "-" or not word.startswith("-"):
            line.words.append(word)
            continue
        line.options.append(word)
        names, is_open = _names(word)
        line.names.extend(names)
        option = next(iter(_named(names[-1])), None)
        if option is None or not is_open or not option.has_value:
            continue
        count = option.settings.get("nargs")
        room = {None: 1, "?": 1, "+": len(rest)}.get(count, count)
        while rest and room and _is_value(rest[0], option):
            line.options.append(rest.pop(0))
            room -= 1
        if count != "?" and line.options[-1] == word:
            raise UsageError(f"{names[-1]} needs {_wanted(names[-1], option)}")
    return line


def _names(word: str) -> tuple[list[str], bool]:
    """Return the options in a word such as -qj, and whether a value may follow the word."""
    if word.startswith("--"):
        name, equals, _ = word.partition("=")
        return [name], not equals
    if _named(f"-{word}"):
        # `-games` lacks a hyphen
        return [word], False
    names = []
    for end, letter in enumerate(word[1:], 2):
        options = _named(f"-{letter}")
        if not options and letter != "h":
            return [word], False
        names.append(f"-{letter}")
        if any(option.has_value for option in options):
            return names, end == len(word)
    return names, False


def _named(name: str) -> list[Option]:
    """Return the options with a name, which verbs may share."""
    return [option for option in OPTIONS if name in option.names]


def _is_value(word: str, option: Option) -> bool:
    if word.startswith("-") and not re.fullmatch(r"-|-\.?\d.*", word):
        return False
    # of an option that may end here
    is_file_or_verb = word.endswith(".ctl") or word in verb_names()
    return "nargs" not in option.settings or not is_file_or_verb


def _wanted(name: str, option: Option) -> str:
    kind = option.settings["type"]
    if isinstance(kind, Value):
        return f"{kind.description}: {name} {kind.example}"
    return f"a value: {name} {option.settings['metavar']}"


def _find_verb(words: list[str]) -> tuple[Verb, list[str]]:
    """Return the verb and its arguments.  Raises UsageError."""
    if not words:
        raise UsageError("a control file is missing: ringmaster run FILE.ctl")
    first, *rest = words
    of_file = {verb.name: verb for verb in verbs() if verb.has_control_file}
    if first in verb_names():
        is_file = any(word.endswith(".ctl") for word in rest[:1])
        named = [verb for verb in verbs() if verb.name == first]
        return next((v for v in named if v.has_control_file == is_file), named[0]), rest
    if not rest:
        is_new = "." not in first and "/" not in first and not os.path.exists(first)
        if is_new and _similar(first, verb_names()):
            raise UsageError(_no_verb(first))
        return of_file["run"], words
    second, *others = rest
    if second in of_file:
        return of_file[second], [first, *others]
    if second in verb_names():
        verb = next(verb for verb in verbs() if verb.name == second)
        raise UsageError(f"{second} has no control file\n{_usage(verb)}")
    if second.endswith(".ctl") or (os.path.exists(second) and not os.path.exists(first)):
        raise UsageError(_no_verb(first))
    raise UsageError(_no_verb(second))


# Errors


class Parser(argparse.ArgumentParser):
    """Raise UsageError where argparse ends the program."""

    def error(self, message: str) -> NoReturn:
        usage = self.format_usage().splitlines()[0]
        text = message.removeprefix("argument ")
        raise UsageError(f"{text}\n{usage}; options: {self.prog} --help")


def _similar(name: str, known: Iterable[str]) -> list[str]:
    """Return the name that was meant: another program's, begun like that, or most like it."""
    names = list(known)
    same = [k for k in names if k == ELSEWHERE.get(name) or k.startswith(name)]
    return same[:1] or similar(name, names, 1)


def _no_verb(word: str) -> str:
    near = "".join(f"; did you mean `{name}`?" for name in _similar(word, verb_names()))
    return f"there is no verb {word!r}{near or '; `ringmaster help` lists the verbs'}"


def _refuse_unknown(line: CommandLine) -> None:
    """Raise UsageError for an option that no verb has."""
    for name in line.names:
        if _named(name):
            continue
        try:
            verb, _ = _find_verb(line.words)
        except UsageError:
            # the value of the option may stand among the words
            known = [verb for verb in verbs() if verb.name in (*line.words[:2], "run")]
            verb = max(known, key=lambda verb: verb.name in line.words)
        for options in (verb.options(), OPTIONS):
            long = {n.lstrip("-"): n for option in options for n in option.names if len(n) > 2}
            near = _similar(name.lstrip("-"), long)
            if near:
                meant = long[near[0]]
                of = "" if options is not OPTIONS else f" (of {_verbs_of(meant)})"
                raise UsageError(f"there is no option {name}; did you mean {meant}{of}?")
        raise UsageError(
            f"there is no option {name}; `ringmaster {verb.name} --help` lists the options"
        )


def _refuse_foreign(line: CommandLine, verb: Verb) -> None:
    """Raise UsageError for an option of other verbs."""
    for name in line.names:
        if not any(verb.key in option.verbs for option in _named(name)):
            meant = "--" + ELSEWHERE.get(name.lstrip("-"), "")
            fits = any(meant in option.names for option in verb.options())
            raise UsageError(
                f"{name} is an option of {_verbs_of(name)}, not of {verb.label}"
                + (f"; did you mean {meant}?" if fits else "")
            )


def _verbs_of(name: str) -> str:
    """Return the verbs that have an option, as "run and verify"."""
    keys = {key for option in _named(name) for key in option.verbs}
    *others, last = [verb.label for verb in verbs() if verb.key in keys]
    return f"{', '.join(others)} and {last}" if others else last


# Help

#: Columns of a help text on a narrower terminal, as in argparse.
_LEAST_WIDTH = 11


def make_parser(verb: Verb) -> Parser:
    """Return the parser of a verb's arguments and options."""
    width = max(_LEAST_WIDTH, shutil.get_terminal_size().columns - 2)
    notes = [
        text if text.startswith(" ") else textwrap.fill(text, width)
        for text in verb.notes.split("\n\n")
    ]
    parser = Parser(
        f"ringmaster {verb.name}",
        usage=_usage(verb).removeprefix("usage: "),
        description=f"{verb.help[0].upper()}{verb.help[1:]}.",
        epilog="\n\n".join(notes) + "\n",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        add_help=False,
        allow_abbrev=False,
    )
    group = parser.add_argument_group("arguments")
    for argument in verb.arguments:
        help = argument.help
        if argument.choices is not None:
            help += f": {', '.join(argument.choices())}"
        kind = Path if argument.key == "control_file" else str
        group.add_argument(
            argument.key, metavar=argument.name, nargs=argument.nargs, help=help, type=kind
        )
    group = parser.add_argument_group("options")
    for option in verb.options():
        # argparse formats the help with %
        help = option.help(verb.key).replace("%", "%%")
        group.add_argument(*option.names, help=help, **option.settings)
    group.add_argument("-h", "--help", action="help", help="print this help")
    return parser


def _usage(verb: Verb) -> str:
    lines = [f"ringmaster {verb.name} {words}" for words in verb.usage]
    if verb.has_control_file:
        lines.append(f"ringmaster FILE.ctl {verb.name}{' [OPTIONS]' if verb.options() else ''}")
    return "usage: " + "\n       ".join(lines)


def short_help() -> str:
    """Return the help of the program: each verb in a line, without options."""
    lines = ["usage: ringmaster " + "\n       ringmaster ".join(USAGE), "", DESCRIPTION]
    for heading, group in VERBS.items():
        lines += ["", f"{heading}:", *(f"  {verb.label:<19} {verb.help}" for verb in group)]
    lines += ["", "examples:", *(f"  {words:<37} {text}" for words, text in EXAMPLES.items())]
    return "\n".join([*lines, "", *NOTES, ""])


def _help(words: list[str]) -> str:
    """Return the help of the verb among words, else of the program.  Raises UsageError."""
    if words[:1] == ["help"] and words[1:]:
        words = words[1:]
        if words[0] not in verb_names():
            raise UsageError(_no_verb(words[0]))
    name = next((word for word in words if word in verb_names()), None)
    if name is None or words == ["help"]:
        return short_help()
    return "\n".join(make_parser(verb).format_help() for verb in verbs() if verb.name == name)
