"""Write docs/reference/*.rst from the settings tables, and the man page from the command line's.

docs/conf.py calls it when the documentation is built.  `python scripts/make_reference.py` writes
the pages without a build; `man docs/man/ringmaster.1` shows the man page.
"""

from __future__ import annotations

import re
import textwrap
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ringmaster.commands.command_line import DESCRIPTION, EXAMPLES, NOTES, USAGE
from ringmaster.commands.options import STATUSES, VERBS, Option, Verb
from ringmaster.competitions import competition_class, type_names
from ringmaster.competitions.setting_types import NotGiven
from ringmaster.control.calls import calls_in
from ringmaster.model.settings import (
    INHERITED,
    REQUIRED,
    Boolean,
    CallOf,
    Change,
    DictOf,
    ListOf,
    Maybe,
    OneOf,
    Setting,
    SettingType,
)

DOCS = Path(__file__).parent.parent / "docs"
SETTINGS_FILE = DOCS / "reference" / "settings.toml"
_SETTINGS = tomllib.loads(SETTINGS_FILE.read_text(encoding="utf-8"))
GROUPS: dict[str, list[str]] = _SETTINGS["groups"]
VALUES: dict[str, str] = _SETTINGS["examples"]
#: Its calls are the same for all types.
_APART = "Cluster"
_MARKUP = re.compile(r"([\\*`|]|_(?=\W|$))")


class Reference:
    """The pages of all settings: one of common settings, one for each competition type.

    A setting is common if most types have it with the same values, default and meaning; a
    call is common if two types have it.  Other versions are on the pages of their types.
    """

    def __init__(self, tables: Mapping[str, Sequence[Setting]]) -> None:
        self._tables = tables
        self._calls = {
            name: {k: c for k, c in calls_in(table).items() if k.partition(".")[0] != _APART}
            for name, table in tables.items()
        }
        by_name: dict[str, list[Setting]] = {}
        for table in tables.values():
            for setting in table:
                by_name.setdefault(setting.name, []).append(setting)
        self._common: dict[str, Setting] = {}
        for name, settings in by_name.items():
            texts = Counter(map(_text, settings))
            text, count = texts.most_common(1)[0]
            if count > len(tables) / 2:
                self._common[name] = next(s for s in settings if _text(s) == text)
        by_kind: dict[str, list[CallOf]] = {}
        for calls in self._calls.values():
            for kind, call in calls.items():
                by_kind.setdefault(kind, []).append(call)
        self._common_calls: dict[str, CallOf] = {}
        for kind, versions in by_kind.items():
            counts = Counter(map(_call_text, versions))
            text, count = counts.most_common(1)[0]
            if count > 1:
                self._common_calls[kind] = next(c for c in versions if _call_text(c) == text)

    def common_rst(self) -> str:
        """Return the page of common settings and calls."""
        lines = [*_heading("Common settings", "="), ""]
        lines += ["Settings of all competition types, except where *Types* lists some.", ""]
        for group, settings in _grouped(self._common.values()):
            lines += [*_heading(group, "-"), ""]
            for setting in settings:
                lines += self._common_entry(setting)
        for kind, call in self._common_calls.items():
            lines += self._call(kind, call, "")
        cluster = ":doc:`Cluster(…) <cluster>` and its variants have a page of their own."
        return "\n".join([*lines, cluster, ""])

    def type_rst(self, type_name: str) -> str:
        """Return the page of a competition type: its own settings and calls."""
        table = self._tables[type_name]
        own = [setting for setting in table if not self._is_common(setting)]
        others = [s for _, group in _grouped(table) for s in group if self._is_common(s)]
        lines = [*_heading(type_name, "="), ""]
        intro = f'Settings of ``competition_type = "{type_name}"``.  :doc:`common` describes these:'
        lines += [_wrapped(f"{intro} {self._links(others, type_name)}"), ""]
        for group, settings in _grouped(own):
            lines += [*_heading(group, "-"), ""]
            for setting in settings:
                changing = [f":Change: {_MEANING[setting.change or 'free']}"]
                lines += _entry(setting, f"{type_name}.{setting.name}", type_name, changing)
        for kind, call in self._calls[type_name].items():
            common = self._common_calls.get(kind)
            if common is None or _call_text(call) != _call_text(common):
                lines += self._call(kind, call, type_name)
        return "\n".join(lines).rstrip() + "\n"

    def _is_common(self, setting: Setting) -> bool:
        common = self._common.get(setting.name)
        return common is not None and _text(setting) == _text(common)

    def _links(self, settings: Iterable[Setting], type_name: str) -> str:
        names = [
            s.name if self._is_common(s) else f"{s.name} <{type_name}.{s.name}>" for s in settings
        ]
        return ", ".join(f":setting:`{name}`" for name in names) + "."

    def _common_entry(self, setting: Setting) -> Iterator[str]:
        """Yield an entry with its types, and with the effects of changes where they differ."""
        changes: dict[str, list[str]] = {}
        for type_name, table in self._tables.items():
            for other in table:
                if _text(other) == _text(setting):
                    changes.setdefault(_MEANING[other.change or "free"], []).append(type_name)
        types = [name for names in changes.values() for name in names]
        fields = []
        if len(types) < len(self._tables):
            fields.append(f":Types: {', '.join(sorted(types))}")
        if len(changes) == 1:
            fields.append(f":Change: {next(iter(changes))}")
        else:
            texts = (f"{', '.join(names)}: {text}" for text, names in changes.items())
            fields.append(f":Change: {' '.join(texts)}")
        yield from _entry(setting, setting.name, "", fields)

    def _call(self, kind: str, call: CallOf, type_name: str) -> Iterator[str]:
        yield from (*_heading(f"{kind}(…)", "-"), "")
        inherited = [s for s in call.settings if s.default is INHERITED]
        own = tuple(s for s in call.settings if s.default is not INHERITED)
        yield from (*_signature(call, own), "")
        if inherited:
            by_name = {setting.name: setting for setting in self._tables[type_name]}
            links = self._links((by_name[s.name] for s in inherited), type_name)
            yield from (
                _wrapped(f"By name also, instead of the value at the top level: {links}"),
                "",
            )
        anchor = f"{type_name}.{kind}" if type_name else kind
        yield from _arguments(own, anchor, f"{kind}.{type_name}" if type_name else kind)


def _text(setting: Setting) -> tuple[str, str, str, str]:
    return setting.name, setting.type.describe(), repr(setting.default), setting.help


def _call_text(call: CallOf) -> tuple[tuple[str, str, str, str], ...]:
    return tuple(map(_text, call.settings))


def _grouped(settings: Iterable[Setting]) -> Iterator[tuple[str, list[Setting]]]:
    """Yield the groups of some settings, in the order of the pages."""
    by_name = {setting.name: setting for setting in settings}
    for group, names in GROUPS.items():
        members = [by_name.pop(name) for name in names if name in by_name]
        if members:
            yield group, members
    if by_name:
        raise SystemExit(f"{SETTINGS_FILE.name} has no group for {', '.join(by_name)}")


def example(setting: Setting, owner: str) -> str:
    """Return an example of a setting's value, in Python.

    owner  the competition type of a setting, "" for all; the call of an argument
    """
    for key in (f"{owner}.{setting.name}", f"{owner.partition('.')[0]}.{setting.name}"):
        if key in VALUES:
            return VALUES[key]
    if setting.name in VALUES:
        return VALUES[setting.name]
    type_ = setting.type.inner if isinstance(setting.type, Maybe) else setting.type
    if isinstance(type_, Boolean):
        return repr(not setting.default)
    if isinstance(type_, OneOf):
        return f'"{next(word for word in type_.choices if word != setting.default)}"'
    raise SystemExit(f"{SETTINGS_FILE.name} has no example for {owner}.{setting.name}")


def cluster_rst(table: Sequence[Setting]) -> str:
    """Return the page of clusters: the arguments of all calls, then of each."""
    calls = [call for kind, call in calls_in(table).items() if kind.partition(".")[0] == _APART]
    common = [s for s in calls[0].settings if all(s in call.settings for call in calls)]
    lines = [*_heading("Clusters", "="), "", "Arguments of each of these calls:", ""]
    lines += _arguments(common, _APART, _APART)
    for call in calls:
        own = [setting for setting in call.settings if setting not in common]
        lines += [*_heading(f"{call.kind}(…)", "-"), "", *_signature(call, call.settings), ""]
        lines += _arguments(own, call.kind, call.kind)
    return "\n".join(lines).rstrip() + "\n"


def _heading(text: str, underline: str) -> list[str]:
    return [_escaped(text), underline * max(3, len(_escaped(text)))]


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 96, break_long_words=False, break_on_hyphens=False)


def _signature(call: CallOf, settings: Sequence[Setting]) -> list[str]:
    others = [f"{s.name}=…" for s in settings if s.name not in call.positional]
    arguments = [*call.positional, *others]
    lines = [f"``{call.kind}({', '.join(arguments)})``"]
    if call.positional and others:
        names = ", ".join(f"``{name}``" for name in call.positional)
        lines += ["", f"May be given by position: {names}; the others only by name."]
    if call.shorthand and call.positional:
        lines += ["", f"A bare value stands for ``{call.kind}({call.positional[0]})``."]
    return lines


def _arguments(settings: Iterable[Setting], anchor: str, kind: str) -> Iterator[str]:
    """Yield the entries of a call's arguments."""
    for setting in settings:
        changing = [f":Change: {_MEANING[setting.change]}"] if setting.change else []
        yield from _entry(setting, f"{anchor}.{setting.name}", kind, changing)


def _entry(setting: Setting, anchor: str, owner: str, fields: Sequence[str]) -> Iterator[str]:
    yield f".. setting:: {anchor}"
    yield ""
    yield f"   {setting.help}"
    yield ""
    yield f"   :Value: {_capital(_escaped(setting.type.describe()))}"
    yield f"   :Default: {_default(setting.default)}"
    for text in fields:
        yield f"   {text}"
    sign = " = " if owner == "" or owner in type_names() else "="
    yield f"   :Example: ``{setting.name}{sign}{example(setting, owner)}``"
    yield ""


def changes_rst(tables: Mapping[str, Sequence[Setting]]) -> str:
    """Return reStructuredText: for each competition type, a table of the effects of
    changes between runs."""
    lines: list[str] = []
    for type_name, table in tables.items():
        rows: dict[str, list[str]] = {kind: [] for kind in _MEANING}
        for name, setting in _with_arguments(table):
            rows[setting.change or "free"].append(name)
        cells = [(_names(names), _MEANING[kind]) for kind, names in rows.items() if names]
        lines += [*_heading(type_name, "~"), "", ".. list-table::", "   :widths: 60 40"]
        lines += ["   :header-rows: 1", "", "   * - Setting", "     - A change between runs"]
        for names, meaning in cells:
            lines += [f"   * - {names}", f"     - {meaning}"]
        lines.append("")
    return "\n".join(lines)


#: Meaning of each kind of change.
_MEANING: dict[str, str] = {
    "free": "Applies from the next game on.",
    "new": "Applies to candidates of new generations only: never with ``max_depth = 1``.",
    "report": "Applies at once.",
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
                if change != outer:
                    yield path, argument
                yield from _judged_otherwise(path, argument.type, change)


def _names(names: Sequence[str]) -> str:
    return ", ".join(f"``{name}``" for name in names)


def _default(value: Any) -> str:
    if value is REQUIRED:
        return "none: required"
    if isinstance(value, NotGiven):
        return value.text
    if callable(value):
        return f"``{getattr(value, '__name__', type(value).__name__)}``"
    if isinstance(value, tuple):
        value = list(value)
    return f"``{value!r}``"


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
    """Return the text of every page by its path from the folder of the documentation."""
    tables = {}
    for name in type_names():
        competition = competition_class(name)
        assert competition is not None
        tables[name] = competition.table
    reference = Reference(tables)
    references = {f"{name}.rst": reference.type_rst(name) for name in tables}
    references["common.rst"] = reference.common_rst()
    references["cluster.rst"] = cluster_rst(next(iter(tables.values())))
    references["command_line.rst"] = command_line_rst()
    # included by docs/changing.rst
    references["changes.txt"] = changes_rst(tables)
    by_path = {f"reference/{name}": text for name, text in references.items()}
    return {**by_path, "man/ringmaster.1": man_page()}


def write(folder: Path = DOCS) -> None:
    """Write all pages below a folder; leave a page with the same text as it is."""
    for name, text in pages().items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        # Sphinx reads a page again if its time has changed
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
