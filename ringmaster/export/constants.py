"""Tuned values as constants of C, C++ and Rust."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from ringmaster.errors import UsageError
from ringmaster.export.tuned import Tuned, is_number
from ringmaster.model.wording import shown

_C = (
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t "
    "char32_t class co_await co_return co_yield compl concept const consteval constexpr constinit "
    "const_cast continue decltype default delete do double dynamic_cast else enum explicit export "
    "extern false float for friend goto if inline int long mutable namespace new noexcept not "
    "not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires "
    "restrict return short signed sizeof static static_assert static_cast struct switch template "
    "this thread_local throw true try typedef typeid typename typeof typeof_unqual union unsigned "
    "using virtual void volatile wchar_t while xor xor_eq main"
)
#: Names that C or C++ keeps for itself.
_RESERVED = frozenset(_C.split())
_WORD = 2**31


def c_macros(tuned: Sequence[Tuned]) -> str:
    """Return `#define NAME VALUE` lines."""
    lines = []
    for name, one in _named(tuned, _c_name):
        value = _number(one)
        text = f"({value})" if value.startswith("-") else value
        lines.append(f"#define {name} {text}{_comment(name, one, '/* ', ' */')}\n")
    return "".join(lines)


def c_constants(tuned: Sequence[Tuned]) -> str:
    """Return `constexpr int NAME = VALUE;` lines, of C++ and C23."""
    lines = []
    for name, one in _named(tuned, _c_name):
        value = _number(one)
        kind = "double"
        if isinstance(one.given, int):
            kind = "int" if -_WORD <= one.given < _WORD else "long long"
        lines.append(f"constexpr {kind} {name} = {value};{_comment(name, one, '/* ', ' */')}\n")
    return "".join(lines)


def rust_constants(tuned: Sequence[Tuned]) -> str:
    """Return `pub const NAME: i32 = VALUE;` lines."""
    lines = []
    for name, one in _named(tuned, _rust_name):
        kind = "f64"
        if isinstance(one.given, int):
            kind = "i32" if -_WORD <= one.given < _WORD else "i64"
        lines.append(f"pub const {name}: {kind} = {_number(one)};{_comment(name, one, '// ')}\n")
    return "".join(lines)


def _number(one: Tuned) -> str:
    if not is_number(one.given):
        raise UsageError(f"parameter {one.code!r}: {shown(one.given)} is no number, so no constant")
    return repr(one.given)


def _named(tuned: Sequence[Tuned], name_of: Callable[[str], str]) -> Iterator[tuple[str, Tuned]]:
    """Yield the parameters with names of their own, by which no two are called."""
    used: set[str] = set()
    for one in tuned:
        name = name_of(one.name)
        unique, number = name, 1
        while unique in used:
            number += 1
            unique = f"{name}_{number}"
        used.add(unique)
        yield unique, one


def _word(name: str) -> str:
    """Return a name with what no identifier can have replaced by "_"."""
    # two in a row, or one at the beginning, are C++'s own
    word = re.sub("[^A-Za-z0-9]+", "_", name).strip("_") or "parameter"
    return f"p_{word}" if word[0].isdigit() else word


def _c_name(name: str) -> str:
    kept = re.fullmatch("[A-Za-z][A-Za-z0-9_]*", name) and "__" not in name
    word = name if kept else _word(name)
    return f"{word}_" if word in _RESERVED else word


def _rust_name(name: str) -> str:
    # LmrBase and LMRBase both become LMR_BASE
    parted = re.sub("([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])", r"\1\3_\2\4", _word(name))
    return parted.upper()


def _comment(name: str, one: Tuned, opening: str, closing: str = "") -> str:
    """Return a comment with the name that an engine knows, where it is another."""
    if name == one.name:
        return ""
    text = "".join(c if c.isascii() and c.isprintable() else "?" for c in one.name)
    # nothing in a name ends a comment, or goes on with it
    text = text.replace("*/", "* /").rstrip("\\")
    return f"  {opening}{text}{closing}"
