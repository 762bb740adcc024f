"""Every format: written entries are read again unchanged, and no text causes a traceback."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.errors import ParameterFileError, UsageError
from ringmaster.parameter_files.entries import Entry, ParameterFile
from ringmaster.parameter_files.formats import FORMATS, read_file, recognised, write_file
from ringmaster.parameter_files.text import Text
from tests.parameter_files.samples import entries, read, unplaced

_NAMES = {"yaneuraou": "tune.params"}


@pytest.mark.parametrize("format", FORMATS)
@given(data=st.data())
def test_entries_are_read_again_as_they_were_written(format: str, data: st.DataObject) -> None:
    written = data.draw(entries(format))
    text, _ = write_file(format, written)
    file = read(text, format=format)
    assert unplaced(file.entries) == written
    assert recognised(Text(_NAMES.get(format, "tune.txt"), text)) == format


_CELLS = st.sampled_from(
    ["a", "b", "int", "float", "1", "-2.5", "nan", "1e999", "", '"', "//", "#", "[[NOT USED]]", "{"]
)
_LINES = st.lists(st.lists(_CELLS, max_size=8).map(",".join), max_size=5).map("\n".join)
_TEXTS = st.one_of(
    st.text(max_size=60),
    _LINES,
    st.recursive(
        st.sampled_from(['"a"', "1", "NaN", "true", "None", "'Real(1,'", "'(1,2)'", "1e400"]),
        lambda inner: st.lists(
            st.tuples(st.sampled_from(["value", "default", "min", "a", "parameter_ranges"]), inner),
            max_size=3,
        ).map(lambda pairs: "{" + ",".join(f'"{k}": {v}' for k, v in pairs) + "}"),
        max_leaves=6,
    ),
    st.lists(
        st.sampled_from(["LinearParameter", "IntegerGammaParameter", "Name", "x", "0", "1", "nan"]),
        max_size=5,
    ).map(" ".join),
)


@given(text=_TEXTS, format=st.sampled_from([None, *FORMATS]))
def test_any_text_gives_entries_or_a_clear_error(text: str, format: str | None) -> None:
    error: ParameterFileError | None = None
    file: ParameterFile | None = None
    try:
        file = read_file(Text("f.txt", text), format)
    except ParameterFileError as caught:
        error = caught
    assert (file is not None and file.entries) or (
        error is not None and error.message.startswith("f.txt")
    )


@given(data=st.binary(max_size=40))
def test_any_bytes_give_a_text_or_a_clear_error(data: bytes) -> None:
    with contextlib.suppress(ParameterFileError):
        assert isinstance(Text.decoded(data, "f"), Text)


@pytest.mark.parametrize("format", ["spsa_tuner", "clop"])
def test_name_with_a_space_is_refused_with_the_formats_that_have_it(format: str) -> None:
    entry = Entry("King Safety", 1, 0, 9)
    with pytest.raises(UsageError, match=r"rename the engine's option, or use .* fishtest"):
        write_file(format, [entry])
    assert "King Safety" in write_file("fishtest", [entry])[0]
    assert "King Safety" in write_file("openbench", [entry])[0]
