"""The linear optimiser on the shipped chess engine's own evaluation: its rounding, its
shrinking with the fifty-move clock, and what it knows beside the weights."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import chess
import numpy as np
import pytest

from ringmaster.demo.chess_engine import WEIGHTS, ChessPosition
from ringmaster.demo.chess_rules import PlainRules
from ringmaster.model.parameters import TunedParameter
from ringmaster.tuners.texel.linear import Linear
from ringmaster.tuners.texel.loss import Floats, Loss
from tests.tuners.texel.worlds import Counts, MemoryData, World, run

NAMES = tuple(option.name for option in WEIGHTS)
TRUE = {option.name: option.default for option in WEIGHTS}
#: Large enough that whole centipawns hide nothing of a count.
UNIT = 100_000


def evaluate(values: Mapping[str, int], board: chess.Board) -> int:
    """Return the engine's static score from White's side, in centipawns."""
    position = ChessPosition(board.fen(), {**values, "Noise": 0, "Seed": 0}, PlainRules())
    return position.evaluate() if board.turn == chess.WHITE else -position.evaluate()


def counts(position: str) -> dict[str, float]:
    """Return how often each weight counts, in the order of NAMES: a function as a control
    file may have it."""
    board = chess.Board(position)
    nothing = dict.fromkeys(NAMES, 0)
    rest = evaluate(nothing, board)
    return {name: (evaluate({**nothing, name: UNIT}, board) - rest) / UNIT for name in NAMES}


def played(count: int) -> list[str]:
    """Return positions of random games, none of them in check."""
    rng = random.Random(7)
    actual: list[str] = []
    board = chess.Board()
    while len(actual) < count:
        if board.is_game_over() or board.ply() > 160:
            board = chess.Board()
        board.push(rng.choice(list(board.legal_moves)))
        if board.ply() > 8 and board.ply() % 5 == 0 and not board.is_check():
            actual.append(board.fen())
    return actual


class DemoWorld(World):
    """Positions scored by the shipped engine's evaluation."""

    def scores(self, theta: Sequence[float] | Any) -> Floats:
        values = {name: round(value) for name, value in zip(NAMES, theta, strict=True)}
        return np.array([evaluate(values, board) for board in self.boards], dtype=np.float32)

    boards: list[chess.Board]


@pytest.fixture(scope="module")
def world() -> DemoWorld:
    texts = played(200)
    features = np.array([list(counts(text).values()) for text in texts])
    made = DemoWorld(features, np.zeros(200), np.arange(200, dtype=np.uint32) // 4, 40, 200.0)
    made.boards = [chess.Board(text) for text in texts]
    made.results = Loss("squared", 200.0).probability(made.scores(tuple(TRUE.values())))
    return made


@pytest.mark.slow
def test_weights_of_the_shipped_engine_are_found_from_its_counts(world: DemoWorld) -> None:
    rng = random.Random(3)
    parameters = [
        TunedParameter(
            option.name,
            min(max(option.default + rng.randint(-30, 30), option.min), option.max),
            option.min,
            option.max,
            integer=True,
        )
        for option in WEIGHTS
    ]
    optimiser = Linear(parameters, ridge=None, threads=1)
    optimiser.set_features(Counts.of(world.counts, NAMES))
    assert len(run(optimiser, MemoryData(world))) == 3
    assert optimiser.problem is None
    (_, _, agreement) = optimiser.report()[-1]
    assert all(row[1] > 0.9999 for row in agreement[1:])
    off = {p.code: v - TRUE[p.code] for p, v in zip(parameters, optimiser.best, strict=True)}
    assert max(map(abs, off.values())) <= 4, off
    start, *_, end = optimiser.course
    assert end.validation is not None
    assert start.validation is not None
    assert end.validation < start.validation / 500
