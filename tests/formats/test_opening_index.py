"""Openings from every format: the index of a file, bad openings, and books of weighted moves."""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
from pathlib import Path
from typing import Any

import chess
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ringmaster.competitions.opening_settings import OpeningBook
from ringmaster.errors import DataFileError, SettingError
from ringmaster.formats.openings import index
from ringmaster.formats.packed import PSV
from ringmaster.formats.registry import FORMATS
from ringmaster.formats.shogi_records import write_csa, write_kif
from ringmaster.formats.source import Source
from ringmaster.games.sfen import START_SFEN
from ringmaster.model.jobs import Opening
from tests.formats.shogi_records import make_record
from tests.openings import load_openings, opened

START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -"
in_a_folder = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def file(folder: Path, content: str | bytes, name: str) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def refusal(path: Path, game: str = "chess", **arguments: Any) -> str:
    with pytest.raises(DataFileError) as caught:
        opened(path, game, **arguments)
    return str(caught.value).removeprefix(str(path))


@pytest.fixture
def unverified(monkeypatch: pytest.MonkeyPatch) -> None:
    """Verify no list at first, however short."""
    monkeypatch.setattr(index, "VERIFIED_AT_FIRST", 0)


# the index

TAGS = st.sampled_from(["", '[Event "a (b; {c"]\n', '[Event "a"]\n[Opening "]["]\n'])
COMMENTS = st.sampled_from(
    ["", "{x}", '{1-0 *\n[Event "z"]\n}', "; 1. d4 * {\n", "(1. d4 (1. c4 *) {)} 1-0)", "$1"]
)
MOVES = st.sampled_from(["1. e4", "1.e4 c5 2.Nf3", "e4 e5", "1. d4\nd5\r\n2. c4", ""])
ENDS = st.sampled_from(["*", "1-0", "1/2-1/2", "0-1"])
BREAKS = st.sampled_from(["\n", "\r\n\r\n", "\n% 1. d4 *\n", "\n\n {between}\n", " "])


@st.composite
def collections(draw: st.DrawFn) -> bytes:
    """Return a PGN file whose games have tags, moves or both."""
    text = ""
    for _ in range(draw(st.integers(1, 6))):
        tags = draw(TAGS)
        moves = draw(MOVES)
        ending = draw(ENDS) if not tags or not moves else draw(ENDS | st.just(""))
        if text and not text.endswith("\n"):
            text += "\n" if tags else " "
        text += f"{tags}{draw(COMMENTS)} {moves} {draw(COMMENTS)} {ending}{draw(BREAKS)}"
        if not ending:
            text += '\n[Event "next"]\n1. g3 *\n'
    mark = draw(st.sampled_from([b"", codecs.BOM_UTF8]))
    return mark + text.encode() + draw(st.sampled_from([b"", b"\x1a", b"\n\n"]))


def sequential(data: bytes) -> list[tuple[int, int, str | None, tuple[str, ...]]]:
    source = Source("a.pgn", "chess", data=data)
    games = [
        (game.number, game.line, game.start, tuple(game.moves))
        for game in FORMATS["pgn"].function(source)
    ]
    source.finish()
    return games


@given(collections())
@in_a_folder
def test_games_of_the_index_are_those_of_sequential_reading(tmp_path: Path, data: bytes) -> None:
    expected = sequential(data)
    path = file(tmp_path, data, "a.pgn")
    if not expected:  # results alone are no games
        with pytest.raises(DataFileError, match="there is no opening in this file"):
            load_openings(path)
        return
    openings = load_openings(path)
    assert [(o.source, o.moves) for o in openings] == [
        (f"a.pgn#{number}", moves) for number, _, _, moves in expected
    ]


PIECES = st.sampled_from(
    [
        *(
            "1. e4 ",
            "e5 2. Nf3 ",
            "Ke7 ",
            "-- ",
            "{x} ",
            "{",
            "} ",
            "(",
            ") ",
            "*",
            "1-0\n",
            " 1/2 ",
        ),
        *(
            '[Event "a"]\n',
            '\n[Event "b"]\n',
            '[FEN "x"]\n',
            '[White "a] ',
            '[A "x"] [B "y"] 1. d4 ',
            '[C "x" [D "y"]\n',
            '[E "x"\n',
        ),
        *("\n", "\n\n", "\n\n", "; (\n", "%\n", " \n", "±", "N ", "\n\ufeff", '[Event "', 'x"]\n'),
        *("½-½ ", "1-0", "é", "  \n\n[", "e8(Q) ", "1. d4 d5 * 1. e4 ", "[A\n"),
    ]
)


@given(st.lists(PIECES, max_size=25).map("".join), st.sampled_from(["utf-8", "latin-1"]))
@settings(in_a_folder, max_examples=300)
def test_good_games_beside_bad_ones_are_those_of_sequential_reading(
    tmp_path: Path, text: str, encoding: str
) -> None:
    data = text.encode(encoding, errors="ignore")
    source = Source("a.pgn", "chess", data=data, skip_bad=True)
    expected = [tuple(game.moves) for game in FORMATS["pgn"].function(source)]
    path = file(tmp_path, data, "a.pgn")
    if not expected:
        assert "there is no" in refusal(path, skip_bad=True)
    else:
        assert [o.moves for o in load_openings(path, skip_bad=True)] == expected


@given(st.lists(PIECES, max_size=25).map("".join), st.integers(1, 40))
@settings(in_a_folder, max_examples=300)
def test_games_do_not_depend_on_the_pieces_in_which_a_file_is_read(
    monkeypatch: pytest.MonkeyPatch, text: str, size: int
) -> None:
    def found(size: int) -> tuple[list[tuple[int, list[str]]], str]:
        monkeypatch.setattr(Source.pieces, "__defaults__", (size,))
        source = Source("a.pgn", "chess", data=text.encode(), skip_bad=True)
        games = [(game.line, game.moves) for game in FORMATS["pgn"].function(source)]
        return games, source.first_bad

    assert found(size) == found(1 << 20)


def test_a_result_of_an_old_file_in_latin_1_ends_its_game(tmp_path: Path) -> None:
    path = file(tmp_path, "1. e4 {é} ½-½ 1. d4 *\n".encode("latin-1"), "a.pgn")
    assert [o.moves for o in load_openings(path)] == [("e2e4",), ("d2d4",)]


@given(
    st.lists(
        st.sampled_from([f"{START} 0 1", f" {START}", "", "# x", "  ; y", "% z", "startpos", "\t"]),
        max_size=12,
    ),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
@in_a_folder
def test_lines_of_the_index_are_those_with_openings(
    tmp_path: Path, lines: list[str], end: str, closed: bool
) -> None:
    path = file(tmp_path, end.join(lines) + end * closed, "a.epd")
    numbers = [n for n, line in enumerate(lines, 1) if line.strip()[:1] not in ("", *"#;%")]
    if not numbers:
        assert refusal(path) == ": there is no opening in this file"
    else:
        assert [o.source for o in load_openings(path)] == [f"a.epd:{n}" for n in numbers]


@pytest.mark.usefixtures("unverified")
def test_a_book_of_many_openings_is_verified_after_the_start(tmp_path: Path) -> None:
    path = file(tmp_path, f"{START}\n\n{START} 4 9\nnonsense\n", "a.epd")
    book = opened_only(path)
    assert book.pick(1) == Opening(fen=f"{START} 4 9", source="a.epd:3")
    with pytest.raises(DataFileError, match=r"a\.epd:4: an EPD has at least 4 fields"):
        book.pick(2)
    assert refusal(path).startswith(":4: an EPD has at least 4 fields")


def opened_only(path: Path, **arguments: Any) -> OpeningBook:
    """Return a book without the verification of its openings."""
    from ringmaster.competitions.opening_settings import OpeningsSettings
    from ringmaster.model.jobs import GameSettings

    book = OpeningBook(OpeningsSettings(str(path), **arguments), GameSettings("chess"), seed=0)
    assert len(book.load(print)) == 1
    return book


def test_the_first_20_faults_are_listed_at_once(tmp_path: Path) -> None:
    text = refusal(file(tmp_path, f"{START}\n" + "x\n" * 30, "a.epd"))
    assert len(text.splitlines()) == 22
    assert text.endswith("skip_bad=True in Openings(…) leaves bad openings out and counts them")


# bad openings that are left out

GAMES = '[Event "a"]\n1. e4 *\n[Event "b"]\n1. e4 Ke7 2. Ke8 *\n[Event "c"]\n1. d4 *\n1. f3 f5 *\n'


def test_bad_openings_are_left_out_and_counted(tmp_path: Path) -> None:
    notices: list[str] = []
    path = file(tmp_path, GAMES, "a.pgn")
    openings = load_openings(path, notices=notices, skip_bad=True)
    assert [o.source for o in openings] == ["a.pgn#1", "a.pgn#3", "a.pgn#4"]
    (notice,) = notices
    assert notice.startswith(f"{path}: left out: 1 bad games; the first: {path}:4: game 2: 'Ke7'")
    lines = file(tmp_path, f"{START}\nx\n7k/5Q2/5K2/8/8/8/8/8 b - -\n{START} 2 2\n", "a.epd")
    assert [o.source for o in load_openings(lines, skip_bad=True)] == ["a.epd:1", "a.epd:4"]


@pytest.mark.usefixtures("unverified")
def test_the_next_good_opening_takes_the_place_of_a_bad_one(tmp_path: Path) -> None:
    lines = [f"{START} 0 {n}" if n % 3 else "bad" for n in range(1, 13)]
    path = file(tmp_path, "\n".join(lines), "a.epd")
    for order in ("sequential", "random"):
        book, other = (opened_only(path, order=order, skip_bad=True) for _ in range(2))
        picked = [book.pick(number) for number in range(24)]
        assert [other.pick(number) for number in reversed(range(24))] == picked[::-1]
        assert {o.source for o in picked} == {f"a.epd:{n}" for n in range(1, 13) if n % 3}
    notices: list[str] = []
    opened(path, notices=notices, skip_bad=True)
    assert "left out: 4 bad lines; the first: " in notices[0]


@pytest.mark.parametrize("text", ["x\ny\n", "7k/5Q2/5K2/8/8/8/8/8 b - -\n"])
def test_a_file_without_a_good_opening_is_refused(tmp_path: Path, text: str) -> None:
    message = refusal(file(tmp_path, text, "a.epd"), skip_bad=True)
    assert message.startswith(": there is no good opening in this file; the first fault: ")


# formats


@pytest.mark.parametrize(
    "text",
    [
        f"{START} 0 1",
        f"{START} 0 1;",
        f"{START} 0 1; from a game",
        f"{START} # x",
        f"{START} 0 1 [0.5]",
        f"{START} 0 1 | 35 | 0.5",
        f"{START} 0 1,35,0.5",
        f"{START} 0 1,3.5e1,5.0e-01",
        f"{START} 0 1 [½-½]",
        f"{START.replace(' ', chr(9))}\t0\t1\t1.0",
        f'{START} 0 1 "1-0"',
        f'{START} c9 "1/2-1/2"; ce 35;',
        f"fen {START} 0 1\nmove e2e4\nscore 31\nply 0\nresult 0\ne",
    ],
)
def test_labels_of_positions_are_ignored(tmp_path: Path, text: str) -> None:
    (opening,) = load_openings(file(tmp_path, f"{text}\n", "a.txt"))
    assert opening == Opening(fen=f"{START} 0 1", source="a.txt:1")


def test_a_heading_is_no_opening(tmp_path: Path) -> None:
    path = file(tmp_path, f"fen,score,result\n{START} 0 1,35,0.5\n", "a.csv")
    assert [o.source for o in load_openings(path)] == ["a.csv:2"]


@pytest.mark.parametrize(
    ("suffix", "packed"),
    [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)],
)
def test_compressed_files_are_openings(tmp_path: Path, suffix: str, packed: Any) -> None:
    (game,) = load_openings(file(tmp_path, packed(b"1. e4 *"), f"a.pgn{suffix}"))
    assert game == Opening(moves=("e2e4",), source=f"a.pgn{suffix}#1")
    (line,) = load_openings(file(tmp_path, packed(START.encode()), f"a.epd{suffix}"))
    assert line.fen == f"{START} 0 1"


def test_an_old_list_in_latin_1_is_read_and_said(tmp_path: Path) -> None:
    notices: list[str] = []
    path = file(tmp_path, f'{START} id "Grünfeld";'.encode("latin-1"), "a.epd")
    assert load_openings(path, notices=notices)[0].name == "Grünfeld"
    assert notices == [f"{path}:1 is not UTF-8; it is read as ISO 8859-1"]


def test_json_is_no_list_of_openings(tmp_path: Path) -> None:
    message = refusal(file(tmp_path, '{"fen": "8/8", "score": 3}\n', "a.jsonl"))
    assert message.startswith(":1: these are lines of JSON, which are not read; write lines")


KIF = "手合割：平手\n先手：a\n後手：b\n   1 ７六歩(77)\n   2 ３四歩(33)\n   3 投了\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csa", "V2.2\nPI\n+\n+7776FU\n-3334FU\n%TORYO\n" * 1),
        ("a.csa", "V2.2\nPI\n+\n+7776FU\n-3334FU\n%TORYO\n/\nV2.2\nPI\n+\n+2726FU\n%TORYO\n/\n"),
        ("a.kif", KIF.encode("cp932")),
        ("a.kifu", "#KIF version=2.0 encoding=UTF-8\n" + KIF),
        ("a.kif", (KIF + "\n" + KIF).encode("cp932")),
        ("a.kifu", ("#KIF version=2.0 encoding=UTF-8\n" + KIF) * 2),
    ],
)
def test_games_of_shogi_are_openings(tmp_path: Path, name: str, content: str | bytes) -> None:
    openings = load_openings(file(tmp_path, content, name), "shogi")
    assert openings[0] == Opening(moves=("7g7f", "3c3d"), source=f"{name}#1")
    count = (content if isinstance(content, bytes) else content.encode()).count(b"\n") // 6
    assert len(openings) == max(1, min(count, 2))
    cut = load_openings(tmp_path / name, "shogi", plies=1)
    assert cut[0].moves == ("7g7f",)


def test_our_own_records_of_shogi_are_openings(tmp_path: Path) -> None:
    record = make_record(["7g7f", "3c3d", "2g2f"])
    for write, suffix in ((write_csa, "csa"), (write_kif, "kifu")):
        text = write(record) + ("/\n" if suffix == "csa" else "") + write(record)
        openings = load_openings(file(tmp_path, text, f"a.{suffix}"), "shogi")
        assert [o.moves for o in openings] == [("7g7f", "3c3d", "2g2f")] * 2


def test_a_bad_game_of_shogi_is_told_with_its_line(tmp_path: Path) -> None:
    text = "V2.2\nPI\n+\n+7776FU\n%TORYO\n/\nV2.2\nPI\n+\n+5555FU\n%TORYO\n"
    path = file(tmp_path, text, "a.csa")
    assert refusal(path, "shogi").startswith(":10: game 2: move 1 is not legal")
    assert len(load_openings(path, "shogi", skip_bad=True)) == 1


def test_packed_positions_are_openings(tmp_path: Path) -> None:
    from rsshogi.core import Board

    records = np.zeros(2, dtype=PSV)
    packed = np.frombuffer(Board(START_SFEN).to_packed_sfen(), dtype=np.uint8)
    records["position"] = packed
    openings = load_openings(file(tmp_path, records.tobytes(), "a.psv"), "shogi")
    assert [(o.fen, o.source) for o in openings] == [
        (START_SFEN, "a.psv#1"),
        (START_SFEN, "a.psv#2"),
    ]
    assert "ends within a record" in refusal(
        file(tmp_path, records.tobytes() + b"x", "b.psv"), "shogi"
    )


# books of YaneuraOu

BLACK = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b -"
WHITE = "lnsgkgsnl/1r5b1/ppppppppp/9/9/2P6/PP1PPPPPP/1B5R1/LNSGKGSNL w -"


def book_db(first: str, second: str = "3c3d none 0 0 1") -> str:
    return f"#YANEURAOU-DB2016 1.00\n# NOE:2\nsfen {WHITE} 0\n{second}\nsfen {BLACK} 1\n{first}\n"


def test_walks_through_a_book_of_yaneuraou_follow_its_counts(tmp_path: Path) -> None:
    text = book_db("7g7f 3c3d 12 20 3\n2g2f none 12 20 1\n1g1f none 0 0 0\n7g7e none 0 0 9")
    book = opened(file(tmp_path, text, "a.db"), "shogi")
    walks = [book.pick(number) for number in range(200)]
    counts = {moves: sum(w.moves == moves for w in walks) for moves in {w.moves for w in walks}}
    assert counts.keys() == {("7g7f", "3c3d"), ("2g2f",)}
    # 150 expected; 5 standard deviations are 31
    assert 119 < counts["7g7f", "3c3d"] < 181
    assert walks[4].source == "a.db#5"
    assert opened(tmp_path / "a.db", "shogi").pick(4) == walks[4]


def test_moves_of_a_book_without_counts_are_equally_likely(tmp_path: Path) -> None:
    path = file(tmp_path, gzip.compress(book_db("7g7f\n2g2f none 5 3").encode()), "a.db.gz")
    book = opened(path, "shogi")
    first = [book.pick(number).moves[0] for number in range(100)]
    assert 25 < first.count("7g7f") < 75


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("#YANEURAOU-DB2016 1.00\n", ": this is not a book of YaneuraOu: no line begins with sfen"),
        (book_db("none none 0 0 1"), ": this book has no move for the usual start position"),
        (book_db("7g7f none 0 0 x"), ":6: the count is 'x', not a number"),
    ],
)
def test_an_unusable_book_of_yaneuraou_is_refused(tmp_path: Path, text: str, message: str) -> None:
    assert refusal(file(tmp_path, text, "a.txt"), "shogi", format="yaneuraou") == message


# Go

GO = {"game": "go", "board_size": 9}


def test_the_main_lines_of_a_collection_are_openings_of_go(tmp_path: Path) -> None:
    text = "(;GM[1]SZ[9]KM[5.5];B[cc]C[a ) b];W[gg](;B[cg])(;B[gc]))\n\n(;SZ[9]HA[0];B[ee];W[])\n"
    path = file(tmp_path, text, "a.sgf")
    assert load_openings(path, **GO) == (
        Opening(moves=("C7", "G3", "C3"), source="a.sgf#1"),
        Opening(moves=("E5", "pass"), source="a.sgf#2"),
    )
    assert load_openings(path, **GO, plies=1)[0].moves == ("C7",)
    shuffled = opened(path, **GO, order="random", start=2, seed=3)
    assert {shuffled.pick(number).source for number in range(1, 3)} == {"a.sgf#1", "a.sgf#2"}


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ("(;SZ[19];B[dd])", "game 1: its board is 19x19, but board_size is 9"),
        ("(;SZ[9]AB[cc][gg];W[ee])", "game 1: it has setup stones (AB, AW, AE) or a handicap"),
        ("(;SZ[9]HA[2];B[ee])", "game 1: it has setup stones (AB, AW, AE) or a handicap"),
        ("(;SZ[9];W[ee])", "game 1: move 1 is not one of Black alone"),
        ("(;SZ[9];B[ee]W[cc])", "game 1: move 1 is not one of Black alone"),
        ("(;SZ[9];B[ee];W[ee])", "game 1: move 2, 'E5', is not legal"),
        ("(;SZ[9];B[zz])", "game 1: move 1 is not a point of 9x9"),
        ("(;SZ[9];B[];W[])", "game 1: the game is over after 2 plies (score)"),
        ("(;SZ[9]GM[2];B[aa])", "game 1: it is not a game of Go: GM[2]"),
        ("(;SZ[9]KM[7])", "game 1: it has no moves"),
        ("(;SZ[9];B[aa]", "game 1: unexpected end of SGF data"),
    ],
)
def test_a_bad_game_of_go_is_told_with_its_line(tmp_path: Path, tree: str, message: str) -> None:
    path = file(tmp_path, f"\n{tree}", "a.sgf")
    assert refusal(path, **GO).startswith(f":2: {message}")
    mixed = file(tmp_path, f"(;SZ[9];B[ee])\n{tree}\n", "b.sgf")
    assert len(load_openings(mixed, **GO, skip_bad=True)) == 1


def test_openings_and_a_handicap_exclude_each_other() -> None:
    from ringmaster.competitions.opening_settings import OpeningsSettings, check_openings

    with pytest.raises(SettingError, match="begin from the empty board, but 'handicap'"):
        check_openings(OpeningsSettings("a.sgf"), "go", "standard", 2)


# positions of Chess960


@given(st.integers(0, 959), st.integers(0, 959), st.data())
@in_a_folder
def test_positions_of_chess960_are_those_of_python_chess(
    tmp_path: Path, white: int, black: int, data: st.DataObject
) -> None:
    ranks = [chess.Board.from_chess960_pos(n).board_fen().split("/")[7] for n in (white, black)]
    rights = data.draw(st.text("KQABCDEFGH", max_size=2)) + data.draw(
        st.text("kqabcdefgh", max_size=2)
    )
    fen = f"{ranks[1].lower()}/pppppppp/8/8/8/8/PPPPPPPP/{ranks[0]} w {rights or '-'} - 0 1"
    board = chess.Board(fen, chess960=True)
    path = file(tmp_path, fen, "a.epd")
    if board.status():
        assert "castling rights" in refusal(path, variant="chess960")
    else:
        assert load_openings(path, variant="chess960")[0].fen == board.fen()
