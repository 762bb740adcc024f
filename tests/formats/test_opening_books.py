"""Opening books in PGN, Polyglot's format, SFEN, and as lists of moves."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import chess
import chess.pgn
import chess.polyglot
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ringmaster.errors import DataFileError
from ringmaster.formats.registry import format_of
from ringmaster.formats.source import Source
from ringmaster.games.shogi import ShogiGame
from ringmaster.model.jobs import Opening
from tests.openings import load_openings, opened
from tests.requirements import package

in_a_folder = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def file(folder: Path, content: str | bytes, name: str = "book.pgn") -> str:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def pgn(folder: Path, content: str | bytes, **more: object) -> list[tuple[str, ...]]:
    path = file(folder, content)
    return [opening.moves for opening in load_openings(path, "chess", **more)]  # type: ignore[arg-type]


def refusal(path: str, game: str = "chess", **more: object) -> str:
    with pytest.raises(DataFileError) as caught:
        load_openings(path, game, **more)  # type: ignore[arg-type]
    text = str(caught.value)
    assert text.replace("\n", " ").isprintable()
    return text.removeprefix(path)


SICILIAN = ("e2e4", "c7c5", "g1f3")


@pytest.mark.parametrize(
    "text",
    [
        "1. e4 c5 2. Nf3 *",
        '[Event "x"]\n[Result "*"]\n\n1.e4 c5 2.Nf3 *\n',
        "1.e4! c5?! 2.Nf3!! 1-0",
        "1. e4 $1 c5 $14 2. Nf3 $146 *",
        "1. e4 {best by test} 1... c5 {a {b} 2. Nf3 {[%clk 0:01]} *",
        '1. e4 {over\n[Event "no tag"]\nlines} c5 ; 2. Nc3 {\n2. Nf3 *',
        "1. e4 (1. d4 d5 (1... Nf6 {) (} 2. c4) 2. c4\n2... e6) c5 2. Nf3 *",
        "% an escaped line 1. d4\n1. e4 c5\n2. Nf3",
        "e4 c5 Nf3 *",
        "1. e2e4 c7-c5 2. Ng1-f3 *",
    ],
)
def test_the_main_line_of_a_game_is_read(tmp_path: Path, text: str) -> None:
    assert pgn(tmp_path, text) == [SICILIAN]


def test_games_end_at_their_results_or_where_tags_begin(tmp_path: Path) -> None:
    text = '1. e4 * 1. d4 d5 1/2-1/2\n[Event "a"]\n\n1. c4\n\n[Event "b"]\n\n1. f4 0-1\n1. g3'
    expected = [("e2e4",), ("d2d4", "d7d5"), ("c2c4",), ("f2f4",), ("g2g3",)]
    assert pgn(tmp_path, text) == expected


def test_plies_cut_the_lines_and_later_text_is_not_checked(tmp_path: Path) -> None:
    text = '1. e4 c5 2. Nf3 {x} nonsense\n(3. more)\nand more *\n\n[Event "b"]\n\n1. d4 *\n'
    assert pgn(tmp_path, text, plies=2) == [("e2e4", "c7c5"), ("d2d4",)]
    assert pgn(tmp_path, text, plies=3) == [SICILIAN, ("d2d4",)]
    assert ":1: game 1: 'nonsense' is not a move (after e4 c5 Nf3)" in refusal(file(tmp_path, text))


def test_start_positions_names_and_sources_are_kept(tmp_path: Path) -> None:
    fen = "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"
    text = (
        f'[FEN "{fen}"]\n[SetUp "1"]\n\n*\n\n'
        f'[FEN "{fen}"]\n[ECO "B20"]\n[Opening "Sic\\"ilian"]\n[Variation "?"]\n\n1. e4 *\n'
    )
    assert load_openings(file(tmp_path, text), "chess") == (
        Opening(fen=fen, source="book.pgn#1"),
        Opening(fen=fen, moves=("e2e4",), source="book.pgn#2", name='B20 Sic"ilian'),
    )


def test_an_old_file_in_latin_1_is_read(tmp_path: Path) -> None:
    text = '[White "Müller"]\n[Opening "Grünfeld"]\n\n1. d4 *\n'.encode("latin-1")
    assert load_openings(file(tmp_path, text), "chess")[0].name == "Grünfeld"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1. e4 *\n\n1. e4\ne5 2. Ke3 *", ":4: game 2: 'Ke3' is not legal here (after e4 e5)"),
        ("1. e4 Sf6 *", ":1: game 1: 'Sf6' is not a move (after e4)"),
        ("1. f3 e5 2. g4 Qh4# *", ":1: game 1: the game is over after 4 plies (mate); fewer"),
        (
            '[FEN "x"]\n\n*',
            ":1: game 1: a FEN has 6 fields, or 4 without counters; this has 1: 'x'",
        ),
        ("1. e4 {\nnever closed", ":1: game 1: a comment begins here and does not end"),
        ('1. e4\n(1. d4\n\n[Event "b"]\n\n1. c4 *', ":2: game 1: a variation begins here"),
        ("1. e4 ) *", ":1: game 1: ) closes nothing"),
        ("[Event x]\n\n1. e4 *", ":1: game 1: this is not a PGN tag: '[Event x]'"),
        ('[Event "x"]\n', ":1: game 1: it has no moves and no result"),
        ('[Variant "Chess960"]\n\n1. e4 *', ":1: game 1: this is a game of 'Chess960'; expected"),
        ("\n\n", ": there is no opening in this file"),
        (b"1. e4 \0", ":1: this is not a text file (it has a NUL)"),
    ],
)
def test_a_bad_game_is_reported_with_its_line_and_text(
    tmp_path: Path, text: str | bytes, message: str
) -> None:
    assert refusal(file(tmp_path, text)).startswith(message)


@given(st.integers(0, 1 << 32))
@in_a_folder
def test_games_that_python_chess_writes_are_read_back(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    text, expected = "", []
    for _ in range(5):
        board = chess.Board()
        while len(board.move_stack) < rng.randrange(1, 30):
            board.push(rng.choice(list(board.legal_moves)))
            if board.is_game_over() or board.is_repetition(3):
                board.pop()
                break
        game = chess.pgn.Game.from_board(board)
        for node in game.mainline():
            if rng.random() < 0.3:
                node.comment = "a ( b ; c\n[d"
            if rng.random() < 0.2 and node.parent is not None:
                node.parent.add_variation(rng.choice(list(node.parent.board().legal_moves)))
        expected.append(tuple(move.uci() for move in board.move_stack))
        text += f"{game}\n\n"
    assert pgn(tmp_path, text) == expected


@given(
    st.lists(
        st.sampled_from(["1.", "e4", "{", "}", "(", ")", ";", "$1", "*", "[", '[A "b"]', "\n", "%"])
        | st.text(max_size=5),
        max_size=30,
    ).map(" ".join)
    | st.binary(max_size=60),
    st.sampled_from(["book.pgn", "book.epd", "book.sfen", "book.txt", "book.bin"]),
)
@in_a_folder
def test_no_file_raises_anything_but_an_openings_error(
    tmp_path: Path, content: str | bytes, name: str
) -> None:
    raw = content if isinstance(content, bytes) else content.encode(errors="replace")
    path = file(tmp_path, raw, name)
    refused = None
    try:
        opened(path, "shogi" if name.endswith("sfen") else "chess")
    except DataFileError as error:
        refused = error
    assert refused is None or refused.path == path
    assert str(refused).replace("\n", " ").isprintable()


# lists of moves


@pytest.mark.parametrize(
    ("line", "opening"),
    [
        ("startpos moves e2e4 c7c5", Opening(moves=("e2e4", "c7c5"))),
        ("startpos", Opening()),
        (
            "fen 4k3/8/8/8/8/8/4P3/4K3 w - - 5 9 moves e2e4 e8e7",
            Opening(fen="4k3/8/8/8/8/8/4P3/4K3 w - - 5 9", moves=("e2e4", "e8e7")),
        ),
        (
            "4k3/8/8/8/8/8/4P3/4K3 w - - moves e2e4",
            Opening(fen="4k3/8/8/8/8/8/4P3/4K3 w - - 0 1", moves=("e2e4",)),
        ),
        (
            '4k3/8/8/8/8/8/4P3/4K3 w - - id "all moves lose"; eco "C00";',
            Opening(fen="4k3/8/8/8/8/8/4P3/4K3 w - - 0 1", name="C00 all moves lose"),
        ),
    ],
)
def test_a_line_of_a_chess_file_may_have_moves(tmp_path: Path, line: str, opening: Opening) -> None:
    (loaded,) = load_openings(file(tmp_path, f"{line}\n", "a.epd"), "chess")
    assert loaded == Opening(opening.fen, opening.moves, "a.epd:1", opening.name)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("startpos moves e2e4 e7e6 e4e6", "move 3, 'e4e6', is not legal: the pawn on e4"),
        ("startpos e2e4", "after startpos comes 'e2e4', not moves"),
        ("startpos moves f2f3 e7e5 g2g4 d8h4", "the game is over after 4 plies (mate)"),
    ],
)
def test_a_bad_line_of_moves_is_reported(tmp_path: Path, line: str, message: str) -> None:
    text = refusal(file(tmp_path, f"# book\n{line}\n", "a.epd"))
    assert text.startswith(f":2: {message}")


LANCE = "lnsgkgsn1/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"


@pytest.mark.parametrize(
    ("line", "fen", "moves"),
    [
        ("startpos", None, ()),
        ("startpos moves 7g7f 3c3d", None, ("7g7f", "3c3d")),
        (f"sfen {LANCE} moves 3c3d", LANCE, ("3c3d",)),
        (f"position sfen {LANCE}", LANCE, ()),
        (LANCE, LANCE, ()),
        (LANCE.removesuffix(" 1"), LANCE, ()),
        (f"{LANCE} moves 3c3d 7g7f", LANCE, ("3c3d", "7g7f")),
    ],
)
def test_a_line_of_a_shogi_file_is_read(
    tmp_path: Path, line: str, fen: str | None, moves: tuple[str, ...]
) -> None:
    (loaded,) = load_openings(file(tmp_path, f"\n# x\n{line}\n", "a.sfen"), "shogi")
    assert loaded == Opening(fen, moves, "a.sfen:3")
    game = ShogiGame(loaded.fen)
    for move in loaded.moves:
        game.play(move)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("startpos moves 7g7f 7g7f", "move 2, '7g7f', is not legal"),
        ("9/9/9/9/9/9/9/9/9 b - 1", ""),
        ("7g7f 3c3d", "an SFEN has 4 fields (board, side, hands, move number), this has 2"),
    ],
)
def test_a_bad_line_of_shogi_is_reported(tmp_path: Path, line: str, message: str) -> None:
    text = refusal(file(tmp_path, f"startpos\n{line}\n", "a.sfen"), "shogi")
    assert text.startswith(f":2: {message}")
    assert line[:20] in text


def test_plies_cut_lists_of_moves(tmp_path: Path) -> None:
    path = file(tmp_path, "startpos moves 7g7f 3c3d nonsense\n", "a.sfen")
    assert load_openings(path, "shogi", plies=2)[0].moves == ("7g7f", "3c3d")


# formats


@pytest.mark.parametrize(
    ("name", "content", "format"),
    [
        ("a.EPD", "x", "epd"),
        ("a.bin", "x", "polyglot"),
        ("a.txt", '\n[Event "x"]', "pgn"),
        ("a.txt", "1. e4 *", "pgn"),
        ("a.txt", "4k3/8/8/8/8/8/8/4K3 w - - 0 1", "epd"),
        ("a", b"\x00\x01", "polyglot"),
    ],
)
def test_a_format_is_recognised_by_suffix_or_content(
    tmp_path: Path, name: str, content: str | bytes, format: str
) -> None:
    source = Source(file(tmp_path, content, name), "chess")
    assert format_of(source, labelled=False).name == format


def test_a_format_that_the_game_does_not_have_is_refused(tmp_path: Path) -> None:
    assert "'pgn' is for chess, not for shogi" in refusal(file(tmp_path, "x"), "shogi")
    assert "'csa' is for shogi, not for chess" in refusal(file(tmp_path, "x", "a.csa"))
    message = refusal(file(tmp_path, b"\0" * 16, "a.bin"), variant="crazyhouse")
    assert "'polyglot' are for standard chess, not for crazyhouse" in message


# variants


def test_a_chess960_book_is_read_and_every_opening_has_its_position(tmp_path: Path) -> None:
    text = (
        "bnrbnqkr/pppppppp/8/8/8/8/PPPPPPPP/BNRBNQKR w HChc - 0 1\n"
        "fen 4k3/8/8/8/8/8/8/1R2K1R1 w BG - 0 1 moves e1g1\n"
        "startpos moves e2e4\n"
    )
    loaded = load_openings(file(tmp_path, text, "a.epd"), "chess", variant="chess960")
    assert [opening.fen for opening in loaded] == [
        "bnrbnqkr/pppppppp/8/8/8/8/PPPPPPPP/BNRBNQKR w KQkq - 0 1",
        "4k3/8/8/8/8/8/8/1R2K1R1 w KQ - 0 1",
        chess.STARTING_FEN,
    ]
    assert loaded[1].moves == ("e1g1",)


@pytest.mark.optional
def test_a_book_of_a_variant_is_read(tmp_path: Path) -> None:
    package("pyffish")
    text = (
        'rnb1kbnr/ppp1pppp/8/3q4/8/8/PPPP1PPP/RNBQKBNR[Pp] w KQkq - 0 3 id "x";\n'
        "rnb1kbnr/ppp1pppp/8/3q4/8/8/PPPP1PPP/RNBQKBNR[Pp] w KQkq - 0 3;variant crazyhouse\n"
        "startpos moves e2e4 d7d5 e4d5 d8d5 P@e4\n"
    )
    loaded = load_openings(file(tmp_path, text, "a.epd"), "chess", variant="crazyhouse")
    assert loaded[0].name == "x"
    assert loaded[0].fen == loaded[1].fen
    assert loaded[2].moves[-1] == "P@e4"
    games = '[Variant "Crazyhouse"]\n\n1. e4 d5 2. exd5 Qxd5 3. @e4 *\n'
    (game,) = load_openings(file(tmp_path, games), "chess", variant="crazyhouse")
    assert game.moves == loaded[2].moves


# Polyglot


def polyglot(lines: list[tuple[str, int]]) -> bytes:
    """A book in which each line of moves has a weight at each of its moves."""
    entries: dict[tuple[int, int], int] = {}
    for line, weight in lines:
        board = chess.Board()
        for san in line.split():
            move = board.parse_san(san)
            raw = move.to_square | move.from_square << 6 | ((move.promotion or 1) - 1) << 12
            if board.is_castling(move):
                rook = move.to_square + (1 if chess.square_file(move.to_square) == 6 else -2)
                raw = rook | move.from_square << 6
            key = chess.polyglot.zobrist_hash(board), raw
            entries[key] = entries.get(key, 0) + weight
            board.push(move)
    return b"".join(
        struct.pack(">QHHI", key, raw, weight, 0) for (key, raw), weight in sorted(entries.items())
    )


@pytest.mark.slow
def test_walks_through_a_book_follow_its_weights(tmp_path: Path) -> None:
    content = polyglot([("e4 e5 Nf3", 3), ("d4 d5", 1), ("c4", 0)])
    book = opened(file(tmp_path, content, "a.bin"), seed=1)
    walks = [book.pick(number) for number in range(2000)]
    counts = {moves: sum(w.moves == moves for w in walks) for moves in {w.moves for w in walks}}
    assert counts.keys() == {("e2e4", "e7e5", "g1f3"), ("d2d4", "d7d5")}
    # 1500 expected; 5 standard deviations are 97
    assert 1400 < counts["e2e4", "e7e5", "g1f3"] < 1600
    assert walks[16].source == "a.bin#17"
    assert [book.pick(number) for number in (7, 3)] == [walks[7], walks[3]]


def test_a_walk_has_the_requested_plies_and_castles_in_uci(tmp_path: Path) -> None:
    path = file(tmp_path, polyglot([("Nf3 Nf6 g3 g6 Bg2 Bg7 O-O O-O", 1)]), "a.bin")
    assert opened(path).pick(0).moves[-2:] == ("e1g1", "e8g8")
    assert opened(path, plies=3).pick(0).moves == ("g1f3", "g8f6", "g2g3")


def test_a_walk_stops_before_the_move_that_ends_the_game(tmp_path: Path) -> None:
    path = file(tmp_path, polyglot([("f3 e5 g4 Qh4#", 1)]), "a.bin")
    assert len(opened(path).pick(0).moves) == 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "there is no opening in this file"),
        (b"\2" * 16 + b"\1" * 16, "this is not a Polyglot book: entry 2 is out of order"),
        (b"\1" * 32, "this book has no move for the usual start position"),
        (polyglot([("e4", 0)]), "this book has no move for the usual start position"),
    ],
)
def test_an_unusable_book_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(DataFileError, match=message):
        opened(file(tmp_path, content, "a.bin"))


def test_a_missing_book_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataFileError, match="cannot read the file: no such file"):
        opened(tmp_path / "a.bin")
