"""Labelled positions for tests: random games, and files of them in every format of text."""

from __future__ import annotations

import functools
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import chess
import pytest

from ringmaster.datasets.position_set import build_positions
from ringmaster.datasets.position_settings import PositionSettings
from ringmaster.errors import DataFileError
from ringmaster.positions import PositionFile

VALUES = {1: 1, 2: 3, 3: 3, 4: 5, 5: 9, 6: 0}
RESULTS = {1.0: "1-0", 0.5: "1/2-1/2", 0.0: "0-1"}


@dataclass(frozen=True)
class Row:
    """A position with White's score and result."""

    fen: str
    score: int
    result: float
    ply: int
    game: int

    @property
    def white(self) -> bool:
        return self.fen.split()[1] == "w"


@functools.cache
def rows(games: int = 12, plies: int = 40, seed: int = 1) -> tuple[Row, ...]:
    """Return different positions of random games; the side with more material wins."""
    rng = random.Random(seed)
    labelled: list[Row] = []
    known: set[str] = set()
    for game in range(games):
        board, seen = chess.Board(), []
        for _ in range(plies):
            board.push(rng.choice(list(board.legal_moves)))
            if board.is_game_over():
                break
            seen.append((board.fen(), material(board) * 100 + rng.randrange(-60, 60), board.ply()))
        last = material(board)
        result = 0.5 if abs(last) < 2 else float(last > 0)
        for fen, score, ply in seen:
            if (place := fen.rsplit(" ", 2)[0]) not in known:
                labelled.append(Row(fen, score, result, ply, game))
            known.add(place)
    return tuple(labelled)


def material(board: chess.Board) -> int:
    """Return White's lead in pawns."""
    return sum(
        value * (len(board.pieces(piece, True)) - len(board.pieces(piece, False)))
        for piece, value in VALUES.items()
    )


def line(format: str, row: Row) -> str:
    """Return a row in a format."""
    own = row.score if row.white else -row.score
    outcome = row.result if row.white else 1 - row.result
    if format == "epd":
        *place, clock, number = row.fen.split()
        counters = f"hmvc {clock}; fmvn {number};"
        return f'{" ".join(place)} {counters} c9 "{RESULTS[row.result]}"; ce {own};\n'
    if format == "fen":
        return f"{row.fen} [{row.result}] {row.score}\n"
    if format == "bar":
        return f"{row.fen} | {row.score} | {row.result}\n"
    if format == "comma":
        return f"{row.fen},{own},{int(2 * outcome)}\n"
    assert format == "plain"
    tail = f"move e2e4\nscore {own}\nply {row.ply}\nresult {int(2 * outcome) - 1}\ne\n"
    return f"fen {row.fen}\n{tail}"


def make(
    folder: Path,
    text: str | bytes,
    name: str = "set.bar",
    *,
    game: str = "chess",
    variant: str = "standard",
    validation: float = 0.25,
    seed: int = 1,
    messages: list[str] | None = None,
    **settings: Any,
) -> PositionFile:
    """Build a position file from one file with `text`."""
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return build_set((path,), game, variant, validation, seed, messages, **settings)


def build_set(
    paths: tuple[Path, ...],
    game: Any = "chess",
    variant: str = "standard",
    validation: float = 0.25,
    seed: int = 1,
    messages: list[str] | None = None,
    **settings: Any,
) -> PositionFile:
    """Build a position file from some files."""
    chosen = PositionSettings(tuple(map(str, paths)), **settings)
    target = paths[0].with_name("made.positions")
    say = (messages if messages is not None else []).append
    return build_positions(game, variant, [chosen], validation, seed, target, say)


def refusal(folder: Path, text: str | bytes, name: str = "set.bar", **more: Any) -> str:
    """Return the error for a file, without the path of its folder."""
    with pytest.raises(DataFileError) as caught:
        make(folder, text, name, **more)
    assert not (folder / "made.positions").exists()
    return str(caught.value).replace(f"{folder}/", "")


def bars(chosen: tuple[Row, ...] | list[Row] | None = None) -> str:
    """Return rows as lines with bars."""
    return "".join(line("bar", row) for row in (rows() if chosen is None else chosen))
