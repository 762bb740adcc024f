"""Parameter files as users have them, and entries that each format can hold."""

from __future__ import annotations

import msgspec
from hypothesis import strategies as st

from ringmaster.model.parameters import middle
from ringmaster.parameter_files.entries import Entry, ParameterFile
from ringmaster.parameter_files.formats import read_file
from ringmaster.parameter_files.tables import GAMES, gains
from ringmaster.parameter_files.text import Text


def read(
    text: str | bytes,
    name: str = "tune.txt",
    format: str | None = None,
    games: int | None = None,
    integer: bool | None = None,
) -> ParameterFile:
    """Read a text as a parameter file."""
    data = text if isinstance(text, bytes) else text.encode()
    return read_file(Text.decoded(data, name), format, games, integer)


def unplaced(entries: tuple[Entry, ...] | list[Entry]) -> list[Entry]:
    """Return entries without their lines."""
    return [msgspec.structs.replace(entry, line=None) for entry in entries]


NAMES = st.from_regex(r"\A[A-Za-z][A-Za-z0-9_]{0,12}\Z").filter(lambda n: n.lower() != "value")
_FLOATS = st.floats(-1e6, 1e6, allow_nan=False).map(lambda x: x + 0.0)
_WHOLE = st.integers(-(10**6), 10**6).map(float)
_POSITIVE = st.floats(1e-6, 1e4)
_COMMENTS = st.text(
    st.characters(codec="utf-8", categories=("L", "N", "Zs"), exclude_characters="\u3000"),
    max_size=12,
).map(lambda text: " ".join(text.split()))


@st.composite
def _ranges(draw: st.DrawFn, integer: bool) -> tuple[float, float, float]:
    bounds = st.lists(_WHOLE if integer else _FLOATS, min_size=2, max_size=2, unique=True)
    low, high = sorted(draw(bounds))
    return draw(st.floats(low, high)), low, high


@st.composite
def _entry(draw: st.DrawFn, format: str) -> Entry:
    integer = draw(st.booleans())
    start, low, high = draw(_ranges(integer))
    entry = Entry(draw(NAMES), start, low, high, integer=integer)
    replace = msgspec.structs.replace
    if format in ("spsa_tuner", "fishtest", "weather_factory"):
        # these formats have no type: integers have whole bounds
        entry = replace(entry, integer=low % 1 == 0 and high % 1 == 0)
    if format in ("spsa_tuner", "fishtest", "openbench", "yaneuraou"):
        entry = replace(entry, c_end=draw(_POSITIVE), r_end=draw(_POSITIVE))
    if format == "spsa_tuner":
        entry = replace(entry, simul_elo=draw(_FLOATS))
    if format == "yaneuraou":
        entry = replace(entry, comment=draw(_COMMENTS) or None, not_used=draw(st.booleans()))
    if format == "weather_factory":
        step = draw(_POSITIVE)
        c, r_end = gains(GAMES)
        entry = replace(entry, step=step, c_end=step * c, r_end=r_end)
    if format == "optuna_tuner":
        entry = replace(entry, grid=draw(_POSITIVE))
    if format == "openbench_values":
        value = draw((_WHOLE if integer else _FLOATS).filter(bool))
        low, high = sorted((0.0, 2 * value))
        entry = replace(entry, start=value, minimum=low, maximum=high)
    if format in ("clop", "chess_tuning_tools"):
        logarithmic = low > 0 and draw(st.booleans())
        entry = replace(
            entry,
            start=middle(low, high, integer, logarithmic),
            scale="log" if logarithmic else "linear",
        )
    if format == "chess_tuning_tools" and draw(st.booleans()):
        words = st.lists(st.sampled_from(["a", "b", "classic", 1, 2.5, 8]), min_size=2, max_size=4)
        choices = tuple(draw(words))
        entry = Entry(entry.code, 0.0, 0.0, len(choices) - 1.0, integer=True, choices=choices)
    return entry


def entries(format: str) -> st.SearchStrategy[list[Entry]]:
    """Return entries that a format can hold."""
    return st.lists(
        _entry(format), min_size=1, max_size=5, unique_by=lambda entry: entry.code.casefold()
    )
