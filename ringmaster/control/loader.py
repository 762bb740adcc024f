"""Load a control file: read, check, run and interpret it.

CPython parses and runs the file; in safe mode lark parses it, and `safe_evaluation`
evaluates its tree.  The settings table of its competition type interprets the values.
"""

from __future__ import annotations

import ast
import linecache
import os
import traceback
import types
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import cached_property
from pathlib import PurePath
from typing import Any

import msgspec

from ringmaster.control.calls import NAME as READ_PARAMETERS
from ringmaster.control.calls import ParameterReader, Recorder, calls_in
from ringmaster.control.names import NamesInFile, unused_names
from ringmaster.control.python2 import changed_values, remedy, syntax_remedy
from ringmaster.control.safe_bounds import OutOfBounds, bounds
from ringmaster.control.sibling_modules import is_installed, is_module, sibling_imports
from ringmaster.control.source import (
    PLACE,
    ControlFileProblems,
    Diagnostic,
    Source,
    Span,
    file_error,
)
from ringmaster.control.source_spans import UNKNOWN, SettingPlaces, literal, path_text
from ringmaster.errors import (
    ControlFileError,
    ParameterFileError,
    SafeModeError,
    SettingError,
    UsageError,
    nearest,
    shown,
)
from ringmaster.model.settings import (
    CallOf,
    Context,
    Setting,
    SettingPath,
    interpret_table,
)

#: Extensions of the files that a competition writes beside its control file.
OUTPUT_EXTENSIONS = frozenset(
    {
        ".status",
        ".log",
        ".hist",
        ".report",
        ".html",
        ".cmd",
        ".games",
        ".void",
        ".gtplogs",
        ".backups",
    }
)

#: Characters of a control file in safe mode.
MOST_CHARACTERS = 100_000

TableOf = Callable[[str], Sequence[Setting] | None]


class ControlFile(msgspec.Struct, eq=False, dict=True):
    """A control file after its run, with correct settings.

    code         the competition code: the file's name without its extension
    table        the settings table of the competition type
    values       interpreted settings by name, defaults included
    tree         the syntax tree
    safe         whether the file was evaluated in safe mode
    namespace    the file's global names after running it
    origin       the file's path, its text, and places in it
    warnings     diagnostics of suspicious values
    """

    code: str
    competition_type: str
    table: Sequence[Setting]
    tree: ast.Module
    safe: bool
    namespace: dict[str, Any]
    origin: Source
    warnings: list[Diagnostic]
    values: dict[str, Any] = msgspec.field(default_factory=dict)
    _warned: set[SettingPath] = msgspec.field(default_factory=set)

    @cached_property
    def setting_places(self) -> SettingPlaces:
        """Places of the settings' parts, found at first use."""
        return SettingPlaces(self.origin, self.tree, self.namespace, self._positional)

    @cached_property
    def _positional(self) -> dict[str, tuple[str, ...]]:
        return {kind: call.positional for kind, call in calls_in(self.table).items()}

    def path_text(self, path: SettingPath) -> str:
        """Return a setting path as Python would reach it."""
        return path_text(path, self.namespace, self._positional)

    def warn_all(self, errors: Iterable[SettingError]) -> None:
        for error in errors:
            self.warnings.append(msgspec.structs.replace(self._diagnose(error), severity="warning"))

    def doubt(self, path: SettingPath, message: str) -> None:
        """Warn of a value that is probably a mistake; once per setting."""
        if path not in self._warned:
            self._warned.add(path)
            self.warn_all([SettingError(path, message)])

    def error(self, errors: Iterable[SettingError]) -> ControlFileProblems:
        """Return one error that shows each of `errors` at its place, then the warnings."""
        diagnostics = dict.fromkeys(self._diagnose(error) for error in errors)
        return ControlFileProblems([*diagnostics, *self.warnings])

    def _diagnose(self, error: SettingError) -> Diagnostic:
        setting = self.path_text(error.path)
        expected, details = error.expected, error.details
        cause = error.__cause__
        span = None
        if cause is not None:
            # one of the file's functions raised it: the mistake is inside the function
            span = raised_at(cause, self.origin)
            expected = expected or _remedy(cause, self.origin)
            details = (*details, *raised_beside(cause, self.origin))
        if span is None:
            place = self.setting_places.find(error.path)
            span = place.value
            if place.name is not None and _names_its_key(error):
                span = place.name
        return self.origin.diagnostic(span, error.message, expected, setting, details=details)


def _names_its_key(error: SettingError) -> bool:
    """Return whether an error is about the last name of its path, not about its value.

    An example: "Player has no argument 'cwdd'".
    """
    if not error.path:
        return False
    key = error.path[-1]
    # keys that are no strings ("1.5 is not an identifier") are not quoted
    quoted = isinstance(key, str) and repr(key) in error.message
    return quoted or error.message.startswith(f"{key} ")


def load(
    path: str | os.PathLike[str],
    table_of: TableOf,
    type_names: Sequence[str],
    *,
    kinds: Iterable[str] = (),
    safe: bool = False,
) -> ControlFile:
    """Load the control file at `path`.

    table_of    returns the settings table of a competition type, None if there is no
                such type; of other types only when the file has an unused name
    type_names  every competition type, for the message about an unknown one
    kinds       calls of other competition types: a helper function may mention them
    safe        evaluate the file within bounds; CPython does not run it

    Raises ControlFileError with every independent error.
    """
    code = _competition_code(os.fspath(path))
    source = Source.read(path)
    with _within_bounds(source) if safe else nullcontext():
        return _loaded(code, source, table_of, type_names, kinds, safe)


def _loaded(
    code: str,
    source: Source,
    table_of: TableOf,
    type_names: Sequence[str],
    kinds: Iterable[str],
    safe: bool,
) -> ControlFile:
    caught: list[Diagnostic] = []
    program = None
    if safe:  # lark takes time to import
        from ringmaster.control.safe_evaluation import SafeEvaluator
        from ringmaster.control.safe_syntax import parse_safely

        tree = parse_safely(source)
    else:
        tree, program, caught = _compile(source)
    competition_type, declared_at = _competition_type(tree, source)
    table = table_of(competition_type)
    if table is None:
        raise source.refusal(
            declared_at,
            f"{competition_type!r} is not a competition type",
            nearest(competition_type, type_names),
            "competition_type",
        )
    calls = calls_in(table)
    namespace = _namespace(source, calls, kinds, caught)
    if program is None:
        _run(SafeEvaluator(source, tree, namespace).run, source, namespace)
    else:
        source.register()
        with sibling_imports(tree, source.file.parent):
            _run(lambda: exec(program, namespace), source, namespace)
    names = [setting.name for setting in table]
    text = NamesInFile(tree, source)
    if namespace.get("game", "go") == "go":
        caught += changed_values(tree, source, competition_type, modules=not safe)

    def types_with(name: str) -> list[str]:
        tables = {type_name: table_of(type_name) or () for type_name in type_names}
        return [each for each, table in tables.items() if name in (s.name for s in table)]

    unused = unused_names(text, source, competition_type, names, calls, types_with)
    loaded = ControlFile(
        code=code,
        competition_type=competition_type,
        table=table,
        tree=tree,
        safe=safe,
        namespace=namespace,
        origin=source,
        warnings=caught + [name for name in unused if name.severity == "warning"],
    )
    context = Context(source.file.parent, doubted=loaded.doubt)
    if namespace.get("competition_type") != competition_type:
        context.refuse(
            ("competition_type",),
            "a later line changes the competition type",
            repr(competition_type),
        )
    own = set(text.own_variables(table, namespace))
    given = {name: value for name, value in namespace.items() if name not in own}
    values = interpret_table(table, given, (), context)
    faults = [*_repeated_keys(tree, source), *(n for n in unused if n.severity == "error")]
    if values is None or context.problems or faults:
        raise ControlFileProblems([*loaded.error(context.problems).diagnostics, *faults])
    loaded.values = values
    return loaded


@contextmanager
def _within_bounds(source: Source) -> Iterator[None]:
    """Bound the block for a file in safe mode, and give its errors their places.

    As in plain mode, CPython's refusal of wrong Python comes before all others.
    """
    if len(source.text) > MOST_CHARACTERS:
        message = f"the file has {len(source.text)} characters; safe mode reads {MOST_CHARACTERS}"
        raise source.refusal(Span(1, 1, 1, 2), message)
    try:
        with bounds():
            yield
    except ControlFileError:
        try:
            _compile(source)
        except ControlFileProblems as wrong:
            # one without a line is about nesting, which the other refusal shows
            if wrong.diagnostics[0].line is not None:
                raise wrong from None
        raise
    except (RecursionError, OutOfBounds) as error:
        is_deep = isinstance(error, RecursionError)
        message = "this is nested too deeply for safe mode" if is_deep else str(error)
        raise source.refusal(raised_at(error, source) or Span(1, 1, 1, 2), message) from None


def _competition_code(path: str) -> str:
    """Return the competition code of a control file's name."""
    name = PurePath(path)
    if name.suffix.lower() in OUTPUT_EXTENSIONS:
        raise file_error(
            path,
            f"{name.suffix!r} is the extension of a file that ringmaster writes",
            f"a control file, such as {name.stem + '.ctl'!r}",
        )
    if name.stem.startswith(".") or not name.stem.isprintable() or not name.stem.strip():
        raise file_error(
            path,
            f"{name.name!r} gives no competition code",
            "a file name of printable characters before its extension, such as 'tune.ctl'",
        )
    return name.stem


def _compile(source: Source) -> tuple[ast.Module, types.CodeType, list[Diagnostic]]:
    """Return the file's syntax tree, its code and CPython's own warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            flags = ast.PyCF_ONLY_AST
            tree = compile(source.text, source.filename, "exec", flags, dont_inherit=True)
            assert isinstance(tree, ast.Module)
            program = compile(tree, source.filename, "exec", dont_inherit=True)
        except SyntaxError as error:
            raise _syntax_error(source, error) from None
        except (ValueError, OverflowError, RecursionError, MemoryError) as error:
            message = f"{type(error).__name__}: {error}" if str(error) else "is nested too deeply"
            raise file_error(source.path, message) from error
    diagnostics = []
    for warning in caught:
        # not DeprecationWarning, which is for programmers
        if issubclass(warning.category, SyntaxWarning):
            text = source.lines[min(warning.lineno, len(source.lines)) - 1]
            start = len(text) - len(text.lstrip()) + 1
            span = Span(warning.lineno, start, warning.lineno, len(text) + 1)
            diagnostics.append(source.diagnostic(span, str(warning.message), severity="warning"))
    return tree, program, diagnostics


def _syntax_error(source: Source, error: SyntaxError) -> ControlFileProblems:
    line = error.lineno or 1
    column = max(error.offset or 1, 1)
    end_line = error.end_lineno or line
    end = error.end_offset or 0
    span = Span(line, column, end_line, end if end > 0 else column + 1)
    return source.refusal(span, f"{type(error).__name__}: {error.msg}", syntax_remedy(error))


def _competition_type(tree: ast.Module, source: Source) -> tuple[str, Span]:
    """Return the competition type and its place, before the file is run."""
    right = f"a line such as {'competition_type = ' + repr('playoff')!r} before all others"
    body = list(tree.body)
    if body and ast.get_docstring(tree, clean=False) is not None:
        del body[0]
    while body and isinstance(body[0], ast.ImportFrom) and body[0].module == "__future__":
        del body[0]
    if not body:
        fault = "is empty" if not source.text.strip() else "sets nothing"
        raise file_error(source.path, f"the file {fault}", right)
    first = body[0]
    value = _assigned_type(first)
    if value is None:
        for statement in body[1:]:
            if _assigned_type(statement) is not None:
                span = source.span_of(statement)
                raise source.refusal(span, "competition_type must be set first", right)
        raise source.refusal(source.span_of(first), "competition_type is not set", right)
    span = source.span_of(value)
    if not isinstance(value, ast.Constant) or not isinstance(value.value, str):
        raise source.refusal(
            span,
            f"{shown(ast.unparse(value))} is not a plain string",
            "a competition type in quotes, such as 'playoff'",
            "competition_type",
        )
    return value.value, span


def _assigned_type(statement: ast.stmt) -> ast.expr | None:
    """Return the value that a statement assigns to competition_type, or None."""
    match statement:
        case ast.Assign(targets=[ast.Name(id="competition_type")], value=value):
            return value
    return None


def _repeated_keys(tree: ast.Module, source: Source) -> Iterator[Diagnostic]:
    """Yield an error for each constant key that a dictionary has twice."""
    for node in ast.walk(tree):
        first: dict[Any, ast.expr] = {}
        # the key of `**another` is None
        for key in filter(None, node.keys if isinstance(node, ast.Dict) else ()):
            value = literal(key)
            line = source.span_of(first.setdefault(value, key)).line
            if value is not UNKNOWN and first[value] is not key:
                yield source.diagnostic(
                    source.span_of(key),
                    f"the key {shown(value)} is repeated: its first value would be lost",
                    "each key once",
                    details=(f"first in line {line}: {source.lines[line - 1].strip()}",),
                )


def _namespace(
    source: Source,
    calls: Mapping[str, CallOf],
    kinds: Iterable[str],
    caught: list[Diagnostic],
) -> dict[str, Any]:
    """Return the global names of a file before its run; their warnings go to `caught`."""

    def note(position: tuple[int, int] | None, text: str) -> None:
        line, column = position or (1, 1)
        end = column + len(READ_PARAMETERS) if position else column
        caught.append(source.diagnostic(Span(line, column, line, end), text, severity="warning"))

    namespace: dict[str, Any] = {kind: Recorder(kind, source) for kind in kinds}
    namespace |= {kind: Recorder(kind, source, c.positional) for kind, c in calls.items()}
    for kind in [kind for kind in namespace if "." in kind]:
        base, _, variant = kind.partition(".")
        namespace[base].variants[variant] = namespace.pop(kind)
    if "Parameter" in namespace:
        parameter = calls.get("Parameter")
        known = () if parameter is None else [setting.name for setting in parameter.settings]
        positional = () if parameter is None else parameter.positional
        namespace[READ_PARAMETERS] = ParameterReader(source, known, positional, note)
    namespace["__name__"] = "control_file"
    namespace["__file__"] = source.filename
    return namespace


def _run(run: Callable[[], None], source: Source, namespace: Mapping[str, Any]) -> None:
    """Run the file.  Raises ControlFileError."""
    try:
        run()
    except (KeyboardInterrupt, OutOfBounds):
        raise
    except BaseException as error:  # also SystemExit: a control file cannot end the program
        span = raised_at(error, source) or Span(1, 1, 1, 2)
        expected = " or ".join(
            filter(None, [_remedy(error, source), _similar_names(error, namespace)])
        )
        details = error.details if isinstance(error, ParameterFileError) else ()
        problem = source.diagnostic(span, _described(error), expected, details=details)
        raise ControlFileProblems([problem]) from error


def raised_at(error: BaseException, source: Source) -> Span | None:
    """Return the place in the control file nearest to where `error` was raised."""
    span: Span | None = vars(error).get(PLACE)
    if span is not None:
        return span
    entry = error.__traceback__
    while entry is not None:
        code = entry.tb_frame.f_code
        if code.co_filename == source.filename:
            span = source.instruction(code, entry.tb_lasti)
            span = span or Span(entry.tb_lineno or 1, 1, entry.tb_lineno or 1, 1)
        entry = entry.tb_next
    return span


def raised_beside(error: BaseException, source: Source) -> list[str]:
    """Return the line of a sibling module where `error` was raised, [] if elsewhere."""
    place = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        file = frame.f_code.co_filename
        if not file.startswith("<") and not is_installed(file):
            place = file, line
    if place is None or place[0] == source.filename:
        return []
    file, line = place
    text = linecache.getline(file, line).strip()
    return [f"{os.path.relpath(file, source.file.parent)}:{line}: {text}"]


def _remedy(error: BaseException, source: Source) -> str:
    """Return what to write instead of code that raised an error, "" if unknown."""
    module = error.name if isinstance(error, ModuleNotFoundError) else None
    if module and is_module(source.file.parent / module):
        return f"`import {module}` at the top of the control file, not in a function"
    return remedy(error)


def _similar_names(error: BaseException, namespace: Mapping[str, Any]) -> str:
    """Return the names most like an undefined one, "" if none is similar."""
    if not isinstance(error, NameError) or not error.name:
        return ""
    import difflib

    names = [name for name in namespace if not name.startswith("__")]
    close = difflib.get_close_matches(error.name, names, n=2, cutoff=0.7)
    return " or ".join(map(repr, close))


def _described(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return "the control file ends the program (SystemExit)"
    if isinstance(error, ParameterFileError):
        return error.message
    if isinstance(error, UsageError | SafeModeError):
        return str(error)
    try:
        text = str(error)
    except Exception:  # an exception class of the control file's own
        text = ""
    name = type(error).__name__
    return f"{name}: {text}" if text else name
