"""Make docs/reference/* from the settings tables, and the man page from the command line's.

`python scripts/make_reference.py` writes the pages; with `--check` it fails if they are out
of date.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ringmaster.commands.command_line import DESCRIPTION, EXAMPLES, NOTES, USAGE
from ringmaster.commands.options import STATUSES, VERBS, Option, Verb
from ringmaster.competitions import competition_class, type_names
from ringmaster.competitions.ending import NOT_GIVEN
from ringmaster.control.calls import calls_in
from ringmaster.model.settings import (
    REQUIRED,
    CallOf,
    Change,
    DictOf,
    ListOf,
    Maybe,
    Setting,
    SettingType,
)

FOLDER = Path(__file__).parent.parent / "docs" / "reference"
MAN_PAGE = "../man/ringmaster.1"
#: Its calls are the same for all types.
_APART = "Cluster"
_MARKUP = re.compile(r"([\\*`|]|_(?=\W|$))")


def reference_rst(type_name: str, table: Sequence[Setting]) -> str:
    """Return reStructuredText: a section of settings, then a section for each call.

    A setting's help is reStructuredText; other text is escaped.
    """
    lines = [*_heading(type_name, "="), "", *_entries(table)]
    calls = calls_in(table)
    for kind, call in calls.items():
        if kind.partition(".")[0] != _APART:
            lines += [*_heading(kind, "-"), "", *_signature(call), "", *_entries(call.settings)]
    if _APART in calls:
        lines.append(f"``{_APART}(…)`` has :doc:`a page of its own <cluster>`.")
    return "\n".join(lines).rstrip() + "\n"


def cluster_rst(table: Sequence[Setting]) -> str:
    """Return reStructuredText: the arguments of all ways to a cluster, then of each."""
    calls = [call for kind, call in calls_in(table).items() if kind.partition(".")[0] == _APART]
    common = [s for s in calls[0].settings if all(s in call.settings for call in calls)]
    lines = [*_heading("Clusters", "="), "", "Arguments of each of these calls:", ""]
    lines += _entries(common)
    for call in calls:
        own = [setting for setting in call.settings if setting not in common]
        lines += [*_heading(call.kind, "-"), "", *_signature(call), "", *_entries(own)]
    return "\n".join(lines).rstrip() + "\n"


def _heading(text: str, underline: str) -> list[str]:
    return [_escaped(text), underline * max(3, len(_escaped(text)))]


def _signature(call: CallOf) -> list[str]:
    others = [s.name for s in call.settings if s.name not in call.positional]
    arguments = [*call.positional, *(f"{name}=…" for name in others)]
    lines = [f"``{call.kind}({', '.join(arguments)})``"]
    if call.positional:
        names = ", ".join(f"``{name}``" for name in call.positional)
        lines += ["", f"May be given by position: {names}; the others only by name."]
    if call.shorthand and call.positional:
        lines += ["", f"A bare value stands for ``{call.kind}({call.positional[0]})``."]
    return lines


def _entries(table: Sequence[Setting]) -> Iterator[str]:
    for setting in table:
        yield f"``{setting.name}``"
        yield f"    {_capital(_escaped(setting.type.describe()))}. {_default(setting.default)}"
        yield ""
        yield f"    {setting.help}"
        yield ""
        yield f"    {_changing(setting)}"
        yield ""


def _changing(setting: Setting) -> str:
    match setting.change:
        case "refused":
            return "Cannot be changed between runs: the results so far would lose their meaning."
        case "report":
            text = "May be changed between runs; only reports are affected."
        case "played":
            text = "May be changed between runs while it gives the values that were played."
        case _:
            text = "May be changed between runs."
    return f"{text} {setting.limits}".rstrip()


def changes_rst(tables: Mapping[str, Sequence[Setting]]) -> str:
    """Return reStructuredText: for each competition type, a table of the effects of
    changes between runs."""
    lines: list[str] = []
    for type_name, table in tables.items():
        rows: dict[str, list[str]] = {kind: [] for kind in _MEANING}
        ruled: list[tuple[str, str]] = []
        for name, setting in _with_arguments(table):
            kind = setting.change or "free"
            if setting.rule is not None:
                ruled.append((name, setting.limits))
            else:
                rows[kind].append(name)
        cells = [(_names(names), _MEANING[kind]) for kind, names in rows.items() if names]
        cells += [(_names([name]), text) for name, text in ruled]
        lines += [*_heading(type_name, "~"), "", ".. list-table::", "   :widths: 60 40"]
        lines += ["   :header-rows: 1", "", "   * - Setting", "     - A change between runs"]
        for names, meaning in cells:
            lines += [f"   * - {names}", f"     - {meaning}"]
        lines.append("")
    return "\n".join(lines)


#: Meaning of each kind of change.
_MEANING: dict[str, str] = {
    "free": "Applies from the next game on.",
    "report": "Applies at once, to what is reported.",
    "played": "Applies from the next game on, if it gives the values that were played; "
    "refused otherwise.",
    "refused": "Refused: the results so far would lose their meaning.",
}


def _with_arguments(table: Sequence[Setting]) -> Iterator[tuple[str, Setting]]:
    """Yield a table's settings, and arguments with another effect than their setting.

    An example is `parameters[…].format`.
    """
    for setting in table:
        yield setting.name, setting
        yield from _judged_otherwise(setting.name, setting.type, setting.change or "free")


def _judged_otherwise(
    name: str, type_: SettingType, outer: Change
) -> Iterator[tuple[str, Setting]]:
    match type_:
        case Maybe(inner=inner):
            yield from _judged_otherwise(name, inner, outer)
        case ListOf(inner=inner) | DictOf(inner=inner):
            yield from _judged_otherwise(f"{name}[…]", inner, outer)
        case CallOf(settings=settings):
            for argument in settings:
                change = argument.change or outer
                path = f"{name}.{argument.name}"
                if argument.rule is not None or change != outer:
                    yield path, argument
                yield from _judged_otherwise(path, argument.type, change)


def _names(names: Sequence[str]) -> str:
    return ", ".join(f"``{name}``" for name in names)


def _default(value: Any) -> str:
    if value is REQUIRED:
        return "Required."
    if value is NOT_GIVEN:
        return "Default: no limit in Go; required in chess and shogi."
    if value is None:
        return "Default: not set (``None``)."
    if callable(value):
        return f"Default: ``{getattr(value, '__name__', type(value).__name__)}``."
    if isinstance(value, tuple):
        value = list(value)
    return f"Default: ``{value!r}``."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _escaped(text: str) -> str:
    return _MARKUP.sub(r"\\\1", text)


def command_line_rst() -> str:
    """Return reStructuredText: the forms of a command line, then a section for each verb."""
    lines = [*_heading("Command line", "="), "", "::", ""]
    lines += [*(f"    ringmaster {words}" for words in USAGE), ""]
    for text in (*NOTES, STATUSES):
        lines += [_literal(text), ""]
    for verb in (verb for group in VERBS.values() for verb in group):
        lines += [*_heading(verb.label, "-"), "", "::", ""]
        lines += [*(f"    ringmaster {verb.name} {words}".rstrip() for words in verb.usage), ""]
        lines += [f"{_capital(_literal(verb.help))}.", ""]
        for option in verb.options():
            value = "" if not option.has_value else f" {_value_name(option)}"
            lines += [f"``{', '.join(option.names)}{value}``"]
            lines += [f"    {_literal(option.help(verb.key))}", ""]
        for text in verb.notes.split("\n\n"):
            if text.startswith(" "):
                lines += ["::", "", f"  {text}", ""]
            elif text and text != STATUSES:
                lines += [_literal(text), ""]
    return "\n".join(lines).rstrip() + "\n"


def _literal(text: str) -> str:
    """Return a text with its words between grave accents as literals."""
    parts = text.split("`")
    return "``".join(p if i % 2 else _escaped(p) for i, p in enumerate(parts))


def _value_name(option: Option) -> str:
    """Return the name of an option's value, in brackets if the option needs none."""
    name = str(option.settings["metavar"])
    return f"[{name}]" if option.settings.get("nargs") == "?" else name


def man_page() -> str:
    """Return the man page, in the macros of man(7)."""
    lines = ['.TH RINGMASTER 1 "" ringmaster "User commands"', ".SH NAME"]
    lines += [f"ringmaster \\- {_roff(DESCRIPTION[0].lower() + DESCRIPTION[1:-1])}", ".SH SYNOPSIS"]
    for words in USAGE:
        lines += [f".B ringmaster\n{_roff(words)}", ".br"]
    lines[-1:] = [".SH DESCRIPTION", *(_roff(text) for text in NOTES)]
    for heading, group in VERBS.items():
        lines.append(f".SH {_roff(heading.upper())}")
        for verb in group:
            lines += _man_verb(verb)
    lines += [".SH EXAMPLES"]
    for words, text in EXAMPLES.items():
        lines += [".TP", f".B {_roff(words)}", _roff(f"{text[0].upper()}{text[1:]}.")]
    status, meanings = STATUSES.split(": ")
    lines += [f".SH {status.upper()}", _roff(meanings)]
    lines += [".SH FILES"]
    lines += [".TP", ".I FILE.ctl", "The control file, in Python."]
    lines += [".TP", ".IR FILE.status ,\\ FILE.log ,\\ FILE.report ,\\ …"]
    lines += ["Results, log and report, beside the control file."]
    return "\n".join([*lines, ""])


def _man_verb(verb: Verb) -> Iterator[str]:
    """Yield the lines of a verb: usage, description, options, notes."""
    yield f".SS {_roff(verb.label)}"
    for words in verb.usage:
        yield f".B ringmaster {verb.name}\n{_roff(words)}\n.br"
    yield f".PP\n{_roff(_capital(verb.help))}."
    for option in verb.options():
        yield f".TP\n{_man_option(option)}\n{_roff(option.help(verb.key))}"
    for text in verb.notes.split("\n\n"):
        if text.startswith(" "):
            yield f".PP\n.nf\n{_roff(text)}\n.fi"
        # which has a section of its own
        elif text and text != STATUSES:
            yield f".PP\n{_roff(text)}"


def _man_option(option: Option) -> str:
    names = ", ".join(f"\\fB{_roff(name)}\\fR" for name in option.names)
    return f"{names} \\fI{_roff(_value_name(option))}\\fR" if option.has_value else names


def _roff(text: str) -> str:
    """Return a text with the characters escaped that roff changes."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "\\(ga")
    return re.sub(r"^([.'])", r"\\&\1", escaped.replace("~", "\\(ti"), flags=re.MULTILINE)


def pages() -> dict[str, str]:
    """Return the text of every page by its path from FOLDER."""
    tables = {}
    for name in type_names():
        competition = competition_class(name)
        assert competition is not None
        tables[name] = competition.table
    references = {f"{name}.rst": reference_rst(name, table) for name, table in tables.items()}
    references["cluster.rst"] = cluster_rst(next(iter(tables.values())))
    references["command_line.rst"] = command_line_rst()
    # included by docs/changing.rst
    return {**references, "changes.txt": changes_rst(tables), MAN_PAGE: man_page()}


def main() -> int:
    stale = []
    for name, text in pages().items():
        path = FOLDER / name
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if "--check" not in sys.argv:
            path.write_text(text, encoding="utf-8")
    if stale and "--check" in sys.argv:
        print(f"out of date: {', '.join(stale)}; run scripts/make_reference.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
