"""Propose Python 3 for the Python 2 that made a control file fail.

Errors are looked up in tables of the changes of Python 3; nothing is guessed.
"""

from __future__ import annotations

import dis
import linecache
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any, Final

import msgspec

from ringmaster.control.sibling_modules import is_installed, is_module
from ringmaster.control.source import Source, Span

#: Built-in names that were removed.
_NAMES: Final[Mapping[str, str]] = {
    "xrange": "range",
    "unicode": "str",
    "basestring": "str",
    "unichr": "chr",
    "long": "int",
    "raw_input": "input",
    "file": "open",
    "reduce": "functools.reduce, after `import functools`",
    "execfile": "exec(open(name).read())",
    "cmp": "(a > b) - (a < b)",
    "apply": "function(*arguments)",
    "reload": "importlib.reload, after `import importlib`",
    "StandardError": "Exception",
    "izip": "zip, which needs no import",
    "imap": "map, which needs no import",
    "ifilter": "filter, which needs no import",
}

#: Modules that were renamed.
_MODULES: Final[Mapping[str, str]] = {
    "ConfigParser": "configparser",
    "StringIO": "io",
    "cStringIO": "io",
    "cPickle": "pickle",
    "Queue": "queue",
    "urllib2": "urllib.request",
    "urlparse": "urllib.parse",
    "commands": "subprocess",
    "popen2": "subprocess",
    "thread": "threading",
    "__builtin__": "builtins",
    "md5": "hashlib",
    "sha": "hashlib",
    "sets": "set, which needs no import",
    "exceptions": "no import: exceptions are built in",
}

#: Attributes of modules that were removed.
_ATTRIBUTES: Final[Mapping[str, Mapping[str, str]]] = {
    "string": {
        "letters": "string.ascii_letters",
        "lowercase": "string.ascii_lowercase",
        "uppercase": "string.ascii_uppercase",
        "join": "' '.join(words), a method of the separator",
        "maketrans": "str.maketrans",
        "atoi": "int",
        "atof": "float",
    }
    | {
        name: f"text.{name}(…), a method of the string"
        for name in (
            "split",
            "replace",
            "strip",
            "lstrip",
            "rstrip",
            "lower",
            "upper",
            "find",
            "count",
        )
    },
    "itertools": {
        "izip": "zip, which needs no import",
        "imap": "map, which needs no import",
        "ifilter": "filter, which needs no import",
        "izip_longest": "itertools.zip_longest",
        "ifilterfalse": "itertools.filterfalse",
    },
    "os": {"getcwdu": "os.getcwd", "errno": "the module errno", "popen3": "subprocess.Popen"},
    "sys": {"maxint": "sys.maxsize", "setdefaultencoding": "nothing: text is Unicode already"},
    "time": {"clock": "time.perf_counter"},
    "operator": {"div": "operator.truediv", "isCallable": "callable"},
    "urllib": {
        "urlopen": "urllib.request.urlopen",
        "urlretrieve": "urllib.request.urlretrieve",
        "urlencode": "urllib.parse.urlencode",
        "quote": "urllib.parse.quote",
        "unquote": "urllib.parse.unquote",
    },
    "types": {
        "StringType": "str",
        "StringTypes": "str",
        "IntType": "int",
        "ListType": "list",
        "DictType": "dict",
        "FloatType": "float",
        "TupleType": "tuple",
    },
    "collections": {
        name: f"collections.abc.{name}"
        for name in ("Mapping", "Sequence", "Callable", "Iterable", "MutableMapping")
    },
}

_DICT_METHODS: Final[Mapping[str, str]] = {
    "iteritems": ".items()",
    "itervalues": ".values()",
    "iterkeys": ".keys()",
    "has_key": "`key in dictionary`",
}

#: Types of values that were lists in Python 2.
_WERE_LISTS: Final = {
    **{name: f"list({name}(…))" for name in ("map", "filter", "zip", "range")},
    "dict_keys": "list(dictionary)",
    "dict_values": "list(dictionary.values())",
    "dict_items": "list(dictionary.items())",
}
_TEXT = "text: files opened without 'b', strings without b'', or data.decode('utf-8')"

#: Messages of errors that Python 2 did not raise, in order.
_MESSAGES: Final[tuple[tuple[str, str], ...]] = (
    (r"for >>: 'builtin_function_or_method'", "print(…, file=…): print is a function in Python 3"),
    (
        r"'cmp' is an invalid keyword|sort\(\) got an unexpected keyword argument 'cmp'",
        "key=functools.cmp_to_key(…), after `import functools`",
    ),
    (
        r"sort\(\) takes no positional|sorted expected 1 argument, got [2-4]",
        "key=functools.cmp_to_key(…), after `import functools`, for a function that compares",
    ),
    (r"exceptions must derive from", "an exception such as ValueError('…')"),
    (r"\bbytes\b", _TEXT),
    (
        r"'float' object cannot be interpreted as an integer"
        r"|indices must be integers.*float|slice indices must be",
        "a // b or int(…): a / b has a fraction",
    ),
    (
        r"not supported between instances of '(\w+)' and '(?!\1')",
        "values of one type: Python 3 orders no others",
    ),
    (r"dictionary changed size during iteration", "a loop over a copy: list(dictionary)"),
)


def remedy(error: BaseException) -> str:
    """Return Python 3 code for an error that Python 2 code raised, "" if unknown."""
    try:
        text = str(error)
    except Exception:  # an exception class of the control file's own
        return ""
    match error:
        case ImportError():
            return _import_remedy(error, text)
        case NameError():
            return _replacement(_NAMES, error.name or "")
        case AttributeError():
            return _attribute_remedy(error.obj, error.name or "")
        case UnicodeDecodeError():
            return "open(name, encoding='latin-1') or whatever the file's encoding is"
        case TypeError() | RuntimeError():
            frame = _innermost(error)
            if _is_raised_by_file(frame) and "must derive from" not in text:
                return ""  # the file wrote the message
            return _print_remedy(text, frame) or _message_remedy(text)
    return ""


def _innermost(error: BaseException) -> TracebackType | None:
    """Return the innermost frame of an error."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    return traceback


def _is_raised_by_file(place: TracebackType | None) -> bool:
    """Whether it was a `raise` of the control file or a module beside it."""
    if place is None or is_installed(place.tb_frame.f_code.co_filename):
        return False
    instruction = place.tb_frame.f_code.co_code[place.tb_lasti]
    return dis.opname[instruction] == "RAISE_VARARGS"


def _print_remedy(text: str, place: TracebackType | None) -> str:
    """Return the remedy for an operation on `print` or on its result."""
    operation = re.search(r"for ([-+*/%]+): '(NoneType|builtin_function_or_method)'", text)
    if operation is None or place is None:
        return ""
    line = linecache.getline(place.tb_frame.f_code.co_filename, place.tb_lineno)
    sign = re.escape(operation[1])
    if operation[2] == "NoneType":
        after_call = re.search(rf"(?<![.\w])print\s*\(.*\)\s*{sign}", line)
        return f"the {operation[1]} inside the brackets of print(…)" if after_call else ""
    after_name = re.search(rf"(?<![.\w])print\s*{sign}", line)
    return f"print({operation[1]}…): print is a function in Python 3" if after_name else ""


def _replacement(table: Mapping[str, str], name: str) -> str:
    return f"{table[name]} ({name} is Python 2)" if name in table else ""


def _import_remedy(error: ImportError, text: str) -> str:
    module = error.name or ""
    top = module.partition(".")[0]
    if top in ("gomill", "ringmaster") and isinstance(error, ModuleNotFoundError):
        return "no import: Player, Matchup and the other calls are predefined"
    wanted = re.match(r"cannot import name '(\w+)' from '([\w.]+)'", text)
    if wanted:
        return _replacement(_ATTRIBUTES.get(wanted[2], {}), wanted[1])
    return (
        _replacement(_MODULES, module) or _replacement(_MODULES, top) or _sibling_remedy(top, error)
    )


def _sibling_remedy(module: str, error: ImportError) -> str:
    """Return the remedy for a late import of a sibling module.

    Sibling modules cannot be imported after the file was run.
    """
    traceback = error.__traceback__
    while module and traceback is not None:
        file = Path(traceback.tb_frame.f_code.co_filename)
        if not is_installed(str(file)) and is_module(file.parent / module):
            return f"`import {module}` at the top of the control file, not in a function"
        traceback = traceback.tb_next
    return ""


def _attribute_remedy(owner: Any, name: str) -> str:
    if isinstance(owner, ModuleType):
        return _replacement(_ATTRIBUTES.get(owner.__name__, {}), name)
    if isinstance(owner, Mapping):
        return _replacement(_DICT_METHODS, name)
    kind = type(owner).__name__
    if kind in _WERE_LISTS and hasattr(list, name):
        instead = _WERE_LISTS[kind]
        return f"sorted({instead})" if name == "sort" else f"{instead}.{name}"
    if name == "next" and hasattr(owner, "__next__"):
        return "next(…), a function (.next() is Python 2)"
    if isinstance(owner, str) and name == "decode":
        return "no decoding: a string is text already"
    if isinstance(owner, bytes) and name in ("encode", "format"):
        return _TEXT
    return ""


def _message_remedy(text: str) -> str:
    for kind, instead in _WERE_LISTS.items():
        quoted = re.search(rf"['\"]{kind}['\"]", text)
        if quoted and re.search(r"subscript|item assignment|operand|concatenate|len\(\)", text):
            return instead
    for pattern, instead in _MESSAGES:
        if re.search(pattern, text):
            return instead
    return ""


_STRING_OR_COMMENT = re.compile(
    r'"""(?:\\.|[^\\])*?"""' + "|'''(?:\\\\.|[^\\\\])*?'''"
    r'|"(?:\\.|[^"\\\n])*"' + "|'(?:\\\\.|[^'\\\\\n])*'" + r"|#[^\n]*|[\"'][^\n]*",
    re.DOTALL,
)


class _Leftover(msgspec.Struct, frozen=True):
    """Syntax that Python 3 does not have.

    pattern  the syntax in a text whose strings are blank
    remedy   makes Python 3 of the matching text and the rest of its statement
    """

    name: str
    pattern: re.Pattern[str]
    remedy: Callable[[str, str], str]


def _print(match: str, rest: str) -> str:
    value = rest.removeprefix("print").strip()
    if not value or "\n" in value:
        return "print(…), the brackets around all of it"
    if not value.endswith(","):
        return f"print({value})"
    return f"print({value.rstrip(', ')}, end=' ')"


def _octal(match: str, rest: str) -> str:
    return f"0o{match.lstrip('0') or '0'}"


def _exec(match: str, rest: str) -> str:
    whole = rest.removeprefix("exec").strip()
    code, _, names = whole.rpartition(" in ")
    split = code and not any(names.count(quote) % 2 for quote in "'\"")
    return f"exec({code}, {names})" if split else f"exec({whole})"


def _except(match: str, rest: str) -> str:
    kinds, _, name = match.rpartition(",")
    return f"{kinds.rstrip()} as {name.strip()}"


def _raise(match: str, rest: str) -> str:
    kind, _, value = rest.partition(",")
    traced = re.fullmatch(r"([^()]+),\s*(\w+)", value.strip())
    if traced:
        return f"{kind.rstrip()}({traced[1]}).with_traceback({traced[2]})"
    return f"{kind.rstrip()}({value.strip()})"


#: A name before an argument without brackets.
_STATEMENT = r"(?<![.\w]){}\b(?=\s+[^\s=.,()\]}};:]|[\"'])"

_SYNTAX: Final = (
    _Leftover("the print statement", re.compile(_STATEMENT.format("print")), _print),
    _Leftover("the exec statement", re.compile(_STATEMENT.format("exec")), _exec),
    _Leftover("`…`", re.compile(r"`[^`]*`?"), lambda match, rest: f"repr({match.strip('`')})"),
    _Leftover("an octal number", re.compile(r"(?<![\w.])0[0-7]+(?![\w.])"), _octal),
    _Leftover(
        "a long number",
        re.compile(r"(?<![\w.])(?:0[xX][0-9a-fA-F]+|[0-9]+)[lL]\b"),
        lambda match, rest: match.rstrip("lL"),
    ),
    _Leftover(
        "a comma after except",
        re.compile(r"\bexcept\s+(?:[\w.]+|\([^()]*\))\s*,\s*\w+(?=\s*:)"),
        _except,
    ),
    _Leftover("a comma after raise", re.compile(r"\braise\s+[\w.]+\s*,"), _raise),
    _Leftover("the operator <>", re.compile(r"<>"), lambda match, rest: "!="),
    _Leftover(
        "a raw unicode string",
        re.compile(r"\b[uU][rR](?=[\"'])"),
        lambda match, rest: "r before the quotes",
    ),
    _Leftover(
        "a tuple as parameter",
        re.compile(r"\b(?:def\s+\w+\s*\(|lambda)\s*(?:\w+\s*,\s*)*(?=\()"),
        lambda match, rest: "one name, to be unpacked in the function: a, b = pair",
    ),
)


def syntax_remedy(source: Source, error: SyntaxError) -> tuple[Span | None, str]:
    """Return the place of the Python 2 that a syntax error is about, and the remedy.

    The place is None where CPython's is better; the remedy is "" if there is none.
    """
    if isinstance(error, TabError):
        return None, (
            "spaces only: Python 2 took a tab for spaces up to the next multiple of eight columns"
        )
    if "unicodeescape" in (error.msg or ""):
        return None, (
            "r before the quotes, or \\\\ for each backslash (in Python 2, \\U and \\N meant "
            "nothing in a plain string)"
        )
    line = error.lineno or 0
    if isinstance(error, IndentationError) or not 1 <= line <= len(source.lines):
        return None, ""
    blank = _blanked(source.text).split("\n")
    # CPython may report any part of it, or the text after it
    at = (error.offset or 1) - 1
    nearest: tuple[int, _Leftover, re.Match[str]] | None = None
    for leftover in _SYNTAX:
        for match in leftover.pattern.finditer(blank[line - 1]):
            if match.start() <= at <= match.end() + 1 or at <= match.start() <= at + 8:
                distance = abs(match.start() - at)
                if nearest is None or distance < nearest[0]:
                    nearest = (distance, leftover, match)
    if nearest is None:
        return None, ""
    _, leftover, match = nearest
    text = source.lines[line - 1]
    rest = _statement(source.lines, blank, line - 1, match.start())
    remedy = leftover.remedy(text[match.start() : match.end()], rest)
    more = sum(
        bool(leftover.pattern.search(other)) for i, other in enumerate(blank) if i != line - 1
    )
    also = f"; {more} more line{'s' * (more > 1)} of the file look{'s' * (more == 1)} the same"
    end = max(len(match[0].rstrip()), 1) + match.start() + 1
    span = Span(line, match.start() + 1, line, end)
    return span, f"{remedy} ({leftover.name} is Python 2{also * (more > 0)})"


def _blanked(text: str) -> str:
    """Return the text with strings and comments blank; places stay the same."""

    def blank(match: re.Match[str]) -> str:
        token = match[0]
        if token.startswith("#") or token[-1] != token[0]:  # a string without an end
            return " " * len(token)
        return token[0] + re.sub(r"[^\n]", " ", token[1:-1]) + token[-1]

    return _STRING_OR_COMMENT.sub(blank, text)


def _statement(lines: list[str], blank: list[str], first: int, start: int) -> str:
    """Return the statement that begins at a line index and a column index.

    It ends with the statement or the bracket around it.

    blank  the lines with strings and comments blank
    """
    depth = 0
    for number in range(first, len(lines)):
        line = blank[number]
        begin = start if number == first else 0
        for i in range(begin, len(line)):
            if line[i] in "([{":
                depth += 1
            elif line[i] in ")]}":
                depth -= 1
            if depth < 0 or (depth == 0 and line[i] == ";"):
                return "\n".join([*lines[first:number], lines[number][:i]])[start:]
        code = line.rstrip()
        # a string that continues in the next line has one quote here
        quotes = re.findall("[\"']", "".join([*blank[first:number], line])[start:])
        quoted = len(quotes) % 2
        if depth == 0 and not code.endswith("\\") and not quoted:
            return "\n".join([*lines[first:number], lines[number][: len(code)]])[start:]
    return lines[first][start:]
