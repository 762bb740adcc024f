"""Game records of shogi for the tests of their formats."""

from __future__ import annotations

import random
from typing import Any

from rsshogi.core import Board

from ringmaster.games.shogi import ShogiGame
from ringmaster.model.jobs import GameSettings, Opening
from ringmaster.model.results import GameRecord, MoveRecord

HANDICAPS = {
    "香落ち": "lnsgkgsn1/1r5b1",
    "右香落ち": "1nsgkgsnl/1r5b1",
    "角落ち": "lnsgkgsnl/1r7",
    "飛車落ち": "lnsgkgsnl/7b1",
    "飛香落ち": "lnsgkgsn1/7b1",
    "二枚落ち": "lnsgkgsnl/9",
    "三枚落ち": "lnsgkgsn1/9",
    "四枚落ち": "1nsgkgsn1/9",
    "五枚落ち": "2sgkgsn1/9",
    "左五枚落ち": "1nsgkgs2/9",
    "六枚落ち": "2sgkgs2/9",
    "八枚落ち": "3gkg3/9",
    "十枚落ち": "4k4/9",
}


def handicap_sfen(name: str) -> str:
    return f"{HANDICAPS[name]}/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"


STARTS = (
    None,
    handicap_sfen("二枚落ち"),
    "4k4/9/9/9/9/9/9/9/4K4 b 2R2B4G4S4N4L18P 1",
    "4+P+P+P2/2K1+R+P3/2+P+P5/9/9/9/6+p+p1/5+p+rk1/6+p+p+p w 2B4G4S4N4L6P 1",
    "ln1gk2nl/1r4gs1/p1pppp1pp/1p4p2/7P1/2P6/PP1PPPP1P/1SG4R1/LN2KGSNL b Bb 1",
)


def random_game(rng: random.Random, fen: str | None, plies: int) -> list[str]:
    """Return legal moves from `fen`, at most `plies`."""
    game = ShogiGame(fen)
    board = Board(game.position())
    while game.ending() is None and len(game.moves) < plies:
        move = rng.choice(board.legal_moves())
        board.apply_move(move)
        game.play(move.to_usi())
    return game.moves


def make_record(
    moves: list[MoveRecord] | list[str], *, fen: str | None = None, book: int = 0, **fields: Any
) -> GameRecord:
    """Return a record with `book` opening moves."""
    played = [MoveRecord(m, i % 2) if isinstance(m, str) else m for i, m in enumerate(moves)]
    info = fields.pop("info", ())
    defaults: dict[str, Any] = {
        "game_id": "0_17",
        "event": "tune",
        "date": "2026-11-21",
        "codes": ("a", "b"),
        "names": ("Alpha", "Beta"),
        "settings": GameSettings(game="shogi", record_info=info),
        "opening": Opening(fen, tuple(m.move for m in played[:book])),
        "moves": tuple(played),
        "score": "*",
        "reason": "",
    }
    return GameRecord(**{**defaults, **fields})


def random_record(seed: int) -> GameRecord:
    """Return a record of a random game with times and scores."""
    rng = random.Random(seed)
    fen = rng.choice(STARTS)
    moves = random_game(rng, fen, rng.choice((0, 1, 40, 150)))
    book = rng.randrange(3) if len(moves) > 2 else 0
    played = [
        MoveRecord(
            move,
            0,
            seconds=None if i < book else rng.choice((0.25, 1.0, 59.9, 61.5, 4000.0)),
            score=None if i < book else rng.randrange(-3000, 3000),
            depth=rng.randrange(30),
            pv=(move, *rng.sample(moves, min(3, len(moves)))),
            comment=rng.choice(("", "", "words\n%TORYO\n+7776FU\n1 投了", "*\n** 5 x", "'\n/\n*")),
        )
        for i, move in enumerate(moves)
    ]
    return make_record(played, fen=fen, book=book, score="0-1", reason="?", info=("pv", "nodes"))


#: Score, reason, and side to move.
ENDINGS = [
    ("1-0", "resignation", 1),
    ("1-0", "mate", 1),
    ("0-1", "stalemate", 0),
    ("1-0", "time", 1),
    ("0-1", "illegal move", 0),
    ("1-0", "declaration", 0),
    ("1-0", "perpetual check", 0),
    ("1-0", "perpetual check", 1),
    ("0-1", "crash", 1),
    ("1/2-1/2", "repetition", 0),
    ("1/2-1/2", "impasse", 1),
    ("1/2-1/2", "move limit", 0),
]


def ended_record(score: str, reason: str, to_move: int, **fields: Any) -> GameRecord:
    """Return a record of one or two moves with an ending."""
    return make_record(
        ["7g7f", "3c3d"] if to_move == 0 else ["7g7f"], score=score, reason=reason, **fields
    )
