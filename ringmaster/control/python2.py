"""What to write in the place of Python 2 that made a control file fail while it
was run.  An error is looked up in tables of what Python 3 has changed; nothing
is guessed of one that the tables do not have."""

from __future__ import annotations

import ast
import dis
import linecache
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any, Final

from ringmaster.control.beside import is_module
from ringmaster.model.function_source import is_installed
from ringmaster.model.settings import Call, SettingPath

#: Names that are built in no more.
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
    "intern": "sys.intern, after `import sys`",
    "reload": "importlib.reload, after `import importlib`",
    "buffer": "memoryview",
    "StandardError": "Exception",
    "izip": "zip, which needs no import",
    "imap": "map, which needs no import",
    "ifilter": "filter, which needs no import",
}

#: Modules that have another name.
_MODULES: Final[Mapping[str, str]] = {
    "ConfigParser": "configparser",
    "StringIO": "io",
    "cStringIO": "io",
    "cPickle": "pickle",
    "Queue": "queue",
    "urllib2": "urllib.request",
    "urlparse": "urllib.parse",
    "httplib": "http.client",
    "cookielib": "http.cookiejar",
    "SocketServer": "socketserver",
    "Tkinter": "tkinter",
    "commands": "subprocess",
    "popen2": "subprocess",
    "thread": "threading",
    "dummy_thread": "threading",
    "anydbm": "dbm",
    "copy_reg": "copyreg",
    "__builtin__": "builtins",
    "HTMLParser": "html.parser",
    "UserDict": "collections",
    "UserList": "collections",
    "md5": "hashlib",
    "sha": "hashlib",
    "sets": "set, which needs no import",
    "exceptions": "no import: exceptions are built in",
}

#: What modules do not have any more.
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
            "zfill",
            "ljust",
            "rjust",
            "center",
            "capitalize",
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
    "inspect": {"getargspec": "inspect.getfullargspec"},
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
    "viewitems": ".items()",
    "viewvalues": ".values()",
    "viewkeys": ".keys()",
    "has_key": "`key in dictionary`",
}

_FUNCTION_ATTRIBUTES: Final[Mapping[str, str]] = {
    "func_name": ".__name__",
    "func_code": ".__code__",
    "func_defaults": ".__defaults__",
    "func_globals": ".__globals__",
    "im_func": ".__func__",
    "im_self": ".__self__",
}

#: Types of what was a list in Python 2.
_WERE_LISTS: Final = {
    **{name: f"list({name}(…))" for name in ("map", "filter", "zip", "range")},
    "dict_keys": "list(dictionary)",
    "dict_values": "list(dictionary.values())",
    "dict_items": "list(dictionary.items())",
}
_TEXT = "text: files opened without 'b', strings without b'', or data.decode('utf-8')"

#: Messages of TypeErrors and others that Python 2 did not give, in order.
_MESSAGES: Final[tuple[tuple[str, str], ...]] = (
    (r"for >>: 'builtin_function_or_method'", "print(…, file=…): print is a function in Python 3"),
    (r"'cmp' is an invalid keyword", "key=functools.cmp_to_key(…), after `import functools`"),
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
        "values of one type: Python 3 puts no others in order",
    ),
    (r"dictionary changed size during iteration", "a copy to go through: list(dictionary)"),
)


def remedy(error: BaseException) -> str:
    """Return what to write instead of the Python 2 that made the file fail while
    it was run, "" when the error is of no known kind."""
    try:
        text = str(error)
    except Exception:  # an exception class of the control file's own
        return ""
    match error:
        case ImportError():
            return _import_remedy(error, text)
        case NameError():
            return _of_old(_NAMES, error.name or "")
        case AttributeError():
            return _attribute_remedy(error.obj, error.name or "")
        case UnicodeDecodeError():
            return "open(name, encoding='latin-1') or whatever the file's encoding is"
        case TypeError() | RuntimeError():
            frame = _innermost(error)
            if _is_raised_by_file(frame) and "must derive from" not in text:
                return ""  # its words are the file's own
            return _print_remedy(text, frame) or _message_remedy(text)
    return ""


def _innermost(error: BaseException) -> TracebackType | None:
    """Return where an error was raised."""
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
    """Return the remedy for what Python 3 reads as an operation on `print`, or
    on what it returns."""
    operation = re.search(r"for ([-+*/%]+): '(NoneType|builtin_function_or_method)'", text)
    if operation is None or place is None:
        return ""
    line = linecache.getline(place.tb_frame.f_code.co_filename, place.tb_lineno)
    sign = re.escape(operation[1])
    if operation[2] == "NoneType":
        found = re.search(rf"(?<![.\w])print\s*\(.*\)\s*{sign}", line)
        return f"the {operation[1]} inside the brackets of print(…)" if found else ""
    found = re.search(rf"(?<![.\w])print\s*{sign}", line)
    return f"print({operation[1]}…): print is a function in Python 3" if found else ""


def _of_old(table: Mapping[str, str], name: str) -> str:
    return f"{table[name]} ({name} is Python 2)" if name in table else ""


def _import_remedy(error: ImportError, text: str) -> str:
    module = error.name or ""
    top = module.partition(".")[0]
    if top in ("gomill", "ringmaster") and isinstance(error, ModuleNotFoundError):
        return "no import: Player, Matchup and all the others are there without one"
    wanted = re.match(r"cannot import name '(\w+)' from '([\w.]+)'", text)
    if wanted:
        return _of_old(_ATTRIBUTES.get(wanted[2], {}), wanted[1])
    return _of_old(_MODULES, module) or _of_old(_MODULES, top) or _beside(top, error)


def _beside(module: str, error: ImportError) -> str:
    """Return the remedy for a module beside the file, which cannot be imported
    once the file has been run."""
    traceback = error.__traceback__
    while module and traceback is not None:
        file = Path(traceback.tb_frame.f_code.co_filename)
        if not is_installed(str(file)) and is_module(file.parent / module):
            return f"`import {module}` at the top of the control file, not in a function"
        traceback = traceback.tb_next
    return ""


def _attribute_remedy(owner: Any, name: str) -> str:
    if isinstance(owner, ModuleType):
        return _of_old(_ATTRIBUTES.get(owner.__name__, {}), name)
    if isinstance(owner, Mapping):
        return _of_old(_DICT_METHODS, name)
    kind = type(owner).__name__
    if kind in _WERE_LISTS and hasattr(list, name):
        instead = _WERE_LISTS[kind]
        return f"sorted({instead})" if name == "sort" else f"{instead}.{name}"
    if name == "next" and hasattr(owner, "__next__"):
        return "next(…), a function (.next() is Python 2)"
    if isinstance(owner, str) and name == "decode":
        return "nothing in its place: a string is text already"
    if isinstance(owner, bytes) and name in ("encode", "format"):
        return _TEXT
    return _of_old(_FUNCTION_ATTRIBUTES, name) if callable(owner) else ""


def _message_remedy(text: str) -> str:
    for kind, instead in _WERE_LISTS.items():
        quoted = re.search(rf"['\"]{kind}['\"]", text)
        if quoted and re.search(r"subscript|item assignment|operand|concatenate|len\(\)", text):
            return instead
    for pattern, instead in _MESSAGES:
        if re.search(pattern, text):
            return instead
    return ""


_FORMATTED_BYTES = re.compile(r"(?<![\w'\"])b(?:'[^'\n]*'|\"[^\"\n]*\")(?!\w)")


def formatted_bytes(value: Any, path: SettingPath, most: int = 10_000) -> Iterator[SettingPath]:
    """Yield where a raw setting has text with bytes formatted into it: "b'x'" of
    "%s" % b"x", which Python 2 made "x".  At most `most` values are looked at."""
    waiting = [(value, path)]
    for _ in range(most):
        if not waiting:
            return
        value, path = waiting.pop()
        if isinstance(value, str):
            if _FORMATTED_BYTES.search(value) and not _has_code(value):
                yield path
        elif isinstance(value, Call):
            waiting += [(item, (*path, i)) for i, item in enumerate(value.args)]
            waiting += [(item, (*path, name)) for name, item in value.kwargs.items()]
        elif isinstance(value, dict):
            waiting += [(v, (*path, k)) for k, v in value.items() if isinstance(k, str | int)]
        elif isinstance(value, list | tuple):
            waiting += [(item, (*path, i)) for i, item in enumerate(value)]


def _has_code(text: str) -> bool:
    """Whether a text, or a word of a command line, is a program in Python, which
    may well have bytes in it."""
    try:
        words = [text, *shlex.split(text)]
    except ValueError:
        words = [text]
    for word in words:
        try:
            tree = ast.parse(word)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        if any(isinstance(node, ast.Call | ast.Import | ast.ImportFrom) for node in ast.walk(tree)):
            return True
    return False
