"""The positions of a page's boards, in JavaScript, against the rules of games in Python."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ringmaster.formats.pgn_writer import write_pgn
from ringmaster.formats.sgf import write_sgf
from ringmaster.formats.shogi_records import write_csa
from ringmaster.games.chess import start_fen
from ringmaster.games.game import Game, beginning
from ringmaster.games.go import GoGame, fixed_handicap
from ringmaster.games.sfen import normalise_sfen
from ringmaster.model.board import BoardGame
from ringmaster.model.jobs import GameSettings, Opening
from ringmaster.model.results import GameRecord, MoveRecord
from ringmaster.results.boards import board_game
from tests.formats.shogi_records import STARTS, random_game
from tests.requirements import missing, package
from tests.test_boards import game_of, record_of

BOARDS = Path(__file__).parent.parent / "ringmaster/reporting/page/static/boards"

#: Reads games from standard input and prints `play` of each.
PLAY = f"""
require({json.dumps(str(BOARDS / "vendor.js"))});
require({json.dumps(str(BOARDS / "rules.js"))});
const games = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify(games.map((game) => {{
  const {{ positions, problem }} = ringmasterRules.play(game);
  const record = ringmasterRules.recordText(game, positions);
  return {{ positions, problem, record }};
}})));
"""

Played = list[dict[str, Any]]


def play(games: Iterable[BoardGame | dict[str, Any]]) -> Played:
    """Return the positions of games from node."""
    node = shutil.which("node")
    if node is None:
        missing("node is not installed (Debian: apt-get install nodejs)")
    done = subprocess.run(
        [node, "-e", PLAY], input=msgspec.json.encode(list(games)), capture_output=True, check=True
    )
    return list(json.loads(done.stdout))


def texts(played: dict[str, Any]) -> list[str]:
    assert played["problem"] == ""
    return [position["text"] for position in played["positions"]]


def expected(game: Game, moves: Iterable[str]) -> list[str]:
    """Return the position before the first move and after each."""
    positions = [game.position()]
    for move in moves:
        game.play(move)
        positions.append(game.position())
    return positions


def board_of(record: GameRecord, write: Callable[[GameRecord], str]) -> BoardGame:
    return board_game(game_of(record.settings.game), write(record).encode())


def chess_record(moves: list[str], fen: str | None, variant: str = "standard") -> GameRecord:
    side = 1 if fen and fen.split()[1] == "b" else 0
    played = tuple(MoveRecord(move, (i + side) % 2, 0.1, 10) for i, move in enumerate(moves))
    settings = GameSettings("chess", variant=variant)
    return record_of("chess", played, settings=settings, opening=Opening(fen))


def random_chess(rng: random.Random, fen: str | None, chess960: bool, plies: int) -> list[str]:
    """Return random legal moves; captures, castling and promotions are more frequent."""
    import chess

    board = chess.Board(fen or chess.STARTING_FEN, chess960=chess960)
    while not board.is_game_over(claim_draw=True) and board.ply() < plies:
        legal = list(board.legal_moves)
        rare = [m for m in legal if m.promotion or board.is_castling(m) or board.is_en_passant(m)]
        board.push(rng.choice(rare if rare and rng.random() < 0.5 else legal))
    return [move.uci() for move in board.move_stack]


ENDGAMES = (
    "8/PPPPPPPP/8/2k5/5K2/8/pppppppp/8 w - - 0 1",
    "7k/1P6/8/N1N1N1N1/8/N1N3N1/8/K7 w - - 0 40",
    "4k3/8/8/2pPp3/8/8/8/4K3 w - c6 0 30",
    "q2q3k/1q1q4/8/8/8/8/1Q1Q4/Q2Q2K1 b - - 3 30",
)


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["standard", "chess960"])
def test_every_position_of_chess_games_equals_the_rules(variant: str) -> None:
    rng = random.Random(23)
    is_960 = variant == "chess960"
    fens = [start_fen(rng.randrange(960)) if is_960 else None for _ in range(20)]
    games = []
    for fen in [*fens, *ENDGAMES]:
        games.append((fen, random_chess(rng, fen, is_960, rng.choice((60, 250)))))
    boards = [board_of(chess_record(moves, fen, variant), write_pgn) for fen, moves in games]
    begin = beginning("chess", variant=variant)
    for (fen, moves), played in zip(games, play(boards), strict=True):
        assert texts(played) == expected(begin(fen), moves)


def test_chess_games_in_progress_may_be_in_uci() -> None:
    moves = "e2e4 a7a6 e4e5 d7d5 e5d6 g8f6 g1f3 g7g6 f1e2 f8g7 e1g1 e8g8 d6c7 h7h6 c7b8q"
    game = {"game": "chess", "players": ["a", "b"], "number": 1, "moves": moves}
    (played,) = play([game])
    assert texts(played) == expected(beginning("chess")(None), moves.split())
    assert played["positions"][5]["spoken"] == "White pawn e5 to d6, takes a pawn"
    assert played["positions"][-1]["spoken"].endswith("takes a knight, becomes a queen")


@pytest.mark.slow
@pytest.mark.optional
@pytest.mark.parametrize("variant", ["crazyhouse", "3check", "racingkings", "horde", "antichess"])
def test_pieces_of_variants_are_where_the_rules_put_them(variant: str) -> None:
    pyffish = package("pyffish")
    rng = random.Random(5)
    games = []
    for _ in range(2):
        moves: list[str] = []
        start = pyffish.start_fen(variant)
        while len(moves) < 50 and (legal := pyffish.legal_moves(variant, start, moves)):
            moves.append(rng.choice(legal))
        games.append(moves)
    boards = [board_of(chess_record(moves, None, variant), write_pgn) for moves in games]
    for moves, played in zip(games, play(boards), strict=True):
        fens = [pyffish.get_fen(variant, start, moves[:n]) for n in range(len(moves) + 1)]
        assert [fen.split()[:2] for fen in texts(played)] == [fen.split()[:2] for fen in fens]


@pytest.mark.slow
def test_every_position_of_shogi_games_equals_the_rules() -> None:
    rng = random.Random(23)
    games = [(fen, random_game(rng, fen, 200)) for fen in STARTS * 4]
    begin = beginning("shogi")
    boards = []
    for fen, moves in games:
        side = 1 if fen and fen.split()[1] == "w" else 0
        played = tuple(MoveRecord(m, (i + side) % 2, 0.1, 10) for i, m in enumerate(moves))
        boards.append(board_of(record_of("shogi", played, opening=Opening(fen)), write_csa))
    for (fen, moves), result in zip(games, play(boards), strict=True):
        assert texts(result) == expected(begin(fen), moves)


def test_shogi_moves_are_in_western_notation() -> None:
    moves = "7g7f 3c3d 8h2b+ 3a2b B*5e 4a5b 4i5h"
    game = {"game": "shogi", "players": ["a", "b"], "number": 1, "moves": moves}
    (played,) = play([game])
    labels = [position["label"] for position in played["positions"][1:]]
    assert labels == ["P-7f", "P-3d", "Bx2b+", "Sx2b", "B*5e", "G4a-5b", "G4i-5h"]


def random_go(rng: random.Random, size: int, setup: tuple[str, ...]) -> GoGame:
    game = GoGame(size, setup, to_move=1 if setup else 0)
    while len(game.moves) < 4 * size * size:
        stones = game.stones()
        vertices = [v for v in vertices_of(size) if v not in stones[0] | stones[1] and v != game.ko]
        game.play(rng.choice(vertices) if vertices and rng.random() < 0.98 else "pass")
    return game


def vertices_of(size: int) -> list[str]:
    return [
        f"{column}{row}" for column in "ABCDEFGHJKLMNOPQRST"[:size] for row in range(1, size + 1)
    ]


def stones_of(text: str, size: int) -> tuple[set[str], set[str]]:
    """Return black and white stones of an SGF position."""
    colours = []
    for name in ("AB", "AW"):
        match = re.search(name + r"((?:\[[a-s]{2}\])+)", text)
        points = [] if match is None else match[1].strip("[]").split("][")
        colours.append(
            {f"{'ABCDEFGHJKLMNOPQRST'[ord(p[0]) - 97]}{size - (ord(p[1]) - 97)}" for p in points}
        )
    return colours[0], colours[1]


@pytest.mark.slow
@pytest.mark.parametrize("size", [5, 9, 19])
def test_every_position_of_go_games_equals_the_rules(size: int) -> None:
    rng = random.Random(23)
    setup = fixed_handicap(size, 4) if size >= 9 else ()
    games = [random_go(rng, size, stones) for stones in ((), setup)]
    boards = []
    for game, stones in zip(games, ((), setup), strict=True):
        first = 1 if stones else 0
        played = tuple(MoveRecord(m, (i + first) % 2) for i, m in enumerate(game.moves))
        settings = GameSettings("go", board_size=size, komi=6.5)
        boards.append(board_of(record_of("go", played, settings=settings, setup=stones), write_sgf))
    for game, stones, result in zip(games, ((), setup), play(boards), strict=True):
        replayed = GoGame(size, stones, to_move=1 if stones else 0)
        shown = texts(result)
        assert stones_of(shown[0], size) == replayed.stones()
        for move, text in zip(game.moves, shown[1:], strict=True):
            replayed.play(move)
            assert stones_of(text, size) == replayed.stones()
            assert f"PL[{'BW'[replayed.to_move]}]" in text
        taken = result["positions"][-1]["taken"]
        alive = [len(colour) for colour in replayed.stones()]
        assert [sum(replayed.stones_played()) - sum(alive)] == [sum(taken)]


def test_a_board_stops_at_an_impossible_move() -> None:
    games = [
        {"game": "chess", "moves": "e4 Ke4 e5"},
        {"game": "chess", "moves": "e4 constructor <b>"},
        {"game": "chess", "variant": "xiangqi", "moves": "a b"},
        {"game": "chess", "start": "nonsense", "moves": "e4"},
        {"game": "shogi", "moves": "7g7f 9z9z"},
        {"game": "go", "size": 9, "moves": "E5 E5 D4"},
        {"game": "go", "size": 9, "moves": "E5 Z9"},
    ]
    played = play({"players": ["a", "b"], "number": 1, **game} for game in games)
    lengths = [len(each["positions"]) for each in played]
    assert lengths == [2, 2, 0, 0, 2, 2, 2]
    assert played[0]["problem"] == "Move 2, Ke4, cannot be shown."
    assert played[2]["problem"] == "no board for the variant xiangqi"


def test_the_texts_for_the_clipboard_read_back() -> None:
    import io

    import chess.pgn
    from rsshogi.record import Record

    common = {"players": ["a", 'b"]\\'], "number": 3, "result": "1-0"}
    fen = "4k3/8/8/8/8/8/8/R3K2R b KQ - 0 1"
    start = "4k4/9/9/9/9/9/9/9/4K4 b 2R2B4G4S4N4L18P 1"
    games = [
        {"game": "chess", "start": fen, "moves": "Kd7 O-O-O+ Kc7", **common},
        {"game": "shogi", "moves": "7g7f 3c3d 8h2b+ 3a2b B*5e", **common},
        {"game": "shogi", "start": start, "moves": "R*5e P*5b", **common},
        {"game": "go", "size": 9, "komi": 6.5, "setup": "D4 F6", "moves": "E5 pass", **common},
    ]
    pgn, csa, hands, sgf = (each["record"] for each in play(games))
    game = chess.pgn.read_game(io.StringIO(pgn))
    assert game is not None
    assert game.errors == []
    assert [move.uci() for move in game.mainline_moves()] == ["e8d7", "e1c1", "d7c7"]
    assert game.headers["Black"] == r"b\"]\\"
    assert Record.from_csa_str(csa).to_usi_position().endswith(" 7g7f 3c3d 8h2b+ 3a2b B*5e")
    assert normalise_sfen(Record.from_csa_str(hands).init_position_sfen) == start
    parsed = package("sgfmill.sgf").Sgf_game.from_string(sgf)
    assert parsed.get_size() == 9
    assert [node.get_move() for node in parsed.get_main_sequence()[1:]] == [
        ("b", (4, 4)),
        ("w", None),
    ]
