from __future__ import annotations

import codecs
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringmaster.competitions.opening_settings import opening_order
from ringmaster.errors import DataFileError
from ringmaster.model.jobs import Opening
from tests.openings import load_openings

START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -"
SICILIAN = "rnbqkbnr/pp1ppppp/8/2p5/4P3/8/PPPP1PPP/RNBQKBNR w KQkq c6"


def book(folder: Path, content: str | bytes, name: str = "book.epd") -> str:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def fens(folder: Path, content: str | bytes) -> list[str | None]:
    return [opening.fen for opening in load_openings(book(folder, content), "chess")]


def refusal(folder: Path, content: str | bytes) -> str:
    path = book(folder, content)
    with pytest.raises(DataFileError) as caught:
        load_openings(path, "chess")
    assert caught.value.path == path
    text = str(caught.value)
    assert len(text) < 400
    assert text.replace("\n", " ").isprintable()
    where, _, message = text.removeprefix(path).partition(": ")
    assert where == ("" if caught.value.number is None else f":{caught.value.number}")
    return f"{where.removeprefix(':')} {message}"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (START, f"{START} 0 1"),
        (f"{START} 3 7", f"{START} 3 7"),
        (f"{START} hmvc 3; fmvn 7;", f"{START} 3 7"),
        (f'{START} id "a; hmvc 9; b"; bm Nf3 e4; hmvc 2;', f"{START} 2 1"),
        (f'{START} id "x"', f"{START} 0 1"),
        (f'{START} 3 7 id "a full FEN with an operation";', f"{START} 3 7"),
        # The en-passant square goes when nothing can take there.
        (SICILIAN, f"{SICILIAN[:-2]}- 0 1"),
    ],
)
def test_a_line_is_read(tmp_path: Path, line: str, expected: str) -> None:
    assert fens(tmp_path, line) == [expected]


def test_comments_and_blank_lines_are_skipped_and_lines_still_counted(tmp_path: Path) -> None:
    text = f"# a book\n\n{START} 0 1\n; more\n   \n  # indented\n{START} 4 9\n{START} 0 1\n"
    assert load_openings(book(tmp_path, text, "my book.epd"), "chess") == (
        Opening(fen=f"{START} 0 1", source="my book.epd:3"),
        Opening(fen=f"{START} 4 9", source="my book.epd:7"),
        Opening(fen=f"{START} 0 1", source="my book.epd:8"),
    )


def test_a_byte_order_mark_and_dos_line_ends_do_not_matter(tmp_path: Path) -> None:
    content = codecs.BOM_UTF8 + f"{START} 0 1\r\n\r\n{START} 2 2\r\n".encode()
    assert fens(tmp_path, content) == [f"{START} 0 1", f"{START} 2 2"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("e2e4 e7e5", "an EPD has at least 4 fields, this has 2"),
        (f"{START} 5", "'5' is neither a label nor an operation"),
        (f"{START} -5 1", "'-5 1' is neither a label nor an operation"),
        (f"{START} hmvc;", "hmvc and fmvn are '' and '1', not numbers"),
        (f"{START} 0 1 {START} 0 1", "'rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQ"),
        (f'{START} id "unended;', "'id \"unended;' is neither a label nor an operation"),
        (START.replace("8/8", "8/9", 1), "invalid character in position part of fen"),
        (START.replace(" w ", " white "), "the side to move is 'white'"),
        ("4k3/8/8/8/8/8/4R3/4K3 w - -", "the side that is not to move is in check"),
        ("8/8/4k3/8/8/3K4/8/8 w - -", "the game is over in this position (material)"),
        ("7k/5Q2/5K2/8/8/8/8/8 b - -", "the game is over in this position (stalemate)"),
        (f"{START} 100 80", "the game is over in this position (50 moves)"),
    ],
)
def test_a_bad_line_is_reported_with_number_text_and_fault(
    tmp_path: Path, line: str, message: str
) -> None:
    text = refusal(tmp_path, f"{START}\n# comment\n{line}\n{START} 0 1\n")
    assert text.startswith(f"3 {message}")
    assert repr(line)[1:20] in text


def test_a_long_bad_line_is_cut(tmp_path: Path) -> None:
    text = refusal(tmp_path, "x" * 5000)
    assert text.splitlines()[0].endswith("x…'")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", " there is no opening in this file"),
        ("\n# only this\n", " there is no opening in this file"),
        (START.encode() + b"\n\x89PNG\0\0", "2 this is not a text file (it has a NUL)"),
        (START.encode() + b"\nb\xe4 x\n", "2 an EPD has at least 4 fields, this has 2: 'bä x'"),
        (b"x" * 70_000, "1 the line is too long for a text file"),
    ],
)
def test_a_file_without_openings_is_refused(
    tmp_path: Path, content: str | bytes, message: str
) -> None:
    assert refusal(tmp_path, content).splitlines()[0] == message


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataFileError, match=r"missing\.epd: cannot read the file: no such"):
        load_openings(str(tmp_path / "missing.epd"), "chess")
    with pytest.raises(DataFileError, match="cannot read the file: is a directory"):
        load_openings(str(tmp_path), "chess")


@given(st.integers(1, 60), st.integers(), st.integers(0, 5))
@settings(deadline=None)
def test_every_random_pass_is_a_permutation(count: int, seed: int, number: int) -> None:
    order = opening_order(count, "random", seed)
    indices = [order(number * count + i) for i in range(count)]
    assert sorted(indices) == list(range(count))


@given(st.integers(1, 40), st.integers(), st.lists(st.integers(0, 400), max_size=30))
@settings(deadline=None)
def test_an_opening_does_not_depend_on_earlier_requests(
    count: int, seed: int, pairs: list[int]
) -> None:
    order = opening_order(count, "random", seed)
    for pair in pairs:
        assert order(pair) == opening_order(count, "random", seed)(pair)


def test_the_random_order_is_the_same_on_every_machine() -> None:
    order = opening_order(10, "random", seed=1)
    assert [order(i) for i in range(10)] == [3, 5, 4, 8, 0, 1, 9, 6, 7, 2]
    assert [order(i) for i in range(10, 20)] == [1, 6, 4, 2, 7, 9, 0, 8, 5, 3]


def test_passes_and_seeds_differ() -> None:
    order, other = opening_order(50, "random", 1), opening_order(50, "random", 2)
    first = [order(i) for i in range(50)]
    assert first != [order(50 + i) for i in range(50)]
    assert first != [other(i) for i in range(50)]


def test_every_permutation_is_equally_likely() -> None:
    counts: dict[tuple[int, ...], int] = {}
    order = opening_order(3, "random", 7)
    for number in range(1200):
        some = tuple(order(3 * number + i) for i in range(3))
        counts[some] = counts.get(some, 0) + 1
    assert len(counts) == 6
    # 200 expected; 5 standard deviations are 65.
    assert all(135 < n < 265 for n in counts.values())


def test_the_sequential_order_wraps_around() -> None:
    order = opening_order(3)
    assert [order(i) for i in range(7)] == [0, 1, 2, 0, 1, 2, 0]


def test_the_order_begins_at_its_start() -> None:
    late = opening_order(3, start=3)
    assert [late(i) for i in range(4)] == [2, 0, 1, 2]
    shuffled, later = opening_order(9, "random", 4), opening_order(9, "random", 4, start=6)
    assert [later(i) for i in range(20)] == [shuffled(5 + i) for i in range(20)]
