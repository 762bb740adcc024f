"""Superko, and self-capture forbidden."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringmaster.errors import IllegalMove
from ringmaster.games.game import Game
from ringmaster.games.go import GoGame, StrictGoGame, format_vertex, new_go_game
from tests.contracts.game_contract import GameContract

RULES: list[dict[str, Any]] = [
    {"ko_rule": "positional", "suicide": True},
    {"ko_rule": "situational", "suicide": True},
    {"ko_rule": "positional", "suicide": False},
    {"ko_rule": "simple", "suicide": False},
]


class StrictContract(GameContract):
    rules: dict[str, Any]
    size = 4

    def new_game(self) -> Game:
        return new_go_game(self.size, **self.rules)

    def moves_to_try(self, game: Game, rng: random.Random) -> Sequence[str]:
        points = [format_vertex((c, r)) for c in range(self.size) for r in range(self.size)]
        return [*rng.sample(points, 6), "pass"]


class TestPositionalSuperkoFulfilsTheContract(StrictContract):
    rules = RULES[0]


class TestSituationalSuperkoFulfilsTheContract(StrictContract):
    rules = RULES[1]


class TestSelfCaptureForbiddenFulfilsTheContract(StrictContract):
    rules = RULES[2]


def play_all(game: GoGame, moves: str) -> GoGame:
    for move in moves.split():
        game.play(move)
    return game


def test_gomills_rules_use_the_fast_game() -> None:
    assert type(new_go_game(9)) is GoGame
    assert type(new_go_game(9, ko_rule="positional")) is StrictGoGame
    assert type(new_go_game(9, suicide=False)) is StrictGoGame


@given(
    st.integers(2, 4),
    st.sampled_from(RULES),
    st.booleans(),
    st.lists(st.integers(0, 17), max_size=120),
)
@settings(deadline=None)
def test_superko_agrees_with_a_list_of_all_positions(
    size: int, rules: dict[str, Any], handicap: bool, choices: list[int]
) -> None:
    points = [format_vertex((c, r)) for c in range(size) for r in range(size)]
    setup = points[:2] if handicap else []
    game = new_go_game(size, setup, int(handicap), **rules)
    # the same moves under Gomill's rules tell what a move would lead to
    seen = {(game.position().split(" white")[0].split(" black")[0], game.to_move)}
    for choice in choices:
        move = points[choice % len(points)] if choice % 9 else "pass"
        free = GoGame(size, setup, int(handicap))
        for earlier in game.moves:
            free.play(earlier)
        try:
            free.play(move)
        except IllegalMove:
            legal = False
        else:
            legal = True
            board = free.position().split(" white")[0].split(" black")[0]
            own = free.stones()[1 - free.to_move]
            if move != "pass":
                if rules["ko_rule"] == "positional":
                    legal = board not in {position for position, _ in seen}
                elif rules["ko_rule"] == "situational":
                    legal = (board, free.to_move) not in seen
                legal = legal and (rules["suicide"] or move in own)
        if legal:
            game.play(move)
            assert game.stones() == free.stones()
            seen.add((board, game.to_move))
        else:
            with pytest.raises(IllegalMove):
                game.play(move)


def test_simple_ko_allows_a_position_to_come_back() -> None:
    ko = "B1 C1 A2 D2 B3 C3 E5 B2 C2 pass pass B2 pass pass C2"
    play_all(GoGame(5), ko)


@pytest.mark.parametrize("rule", ["simple", "positional"])
def test_forbidden_self_capture_is_refused(rule: Any) -> None:
    game = play_all(new_go_game(5, ko_rule=rule, suicide=False), "A2 pass B1")
    with pytest.raises(IllegalMove, match="self-capture is not allowed"):
        game.play("A1")
    # of several stones, too
    game = new_go_game(3, ("A2", "B2", "C1"), 1, ko_rule=rule, suicide=False)
    play_all(game, "A1 pass")
    with pytest.raises(IllegalMove, match="self-capture"):
        game.play("B1")
    # a capture is none
    assert "C3" in play_all(game, "C3").stones()[1]


def test_game_with_superko_ends() -> None:
    # on 2x2, play without passes would go on for ever under the simple ko
    rng = random.Random(3)
    game = new_go_game(2, ko_rule="positional")
    points = ["A1", "A2", "B1", "B2"]
    plies = 0
    while game.ending() is None:
        for move in [*rng.sample(points, 4), "pass"]:
            try:
                game.play(move)
                break
            except IllegalMove:
                continue
        plies += 1
    # there are 57 legal positions of 2x2
    assert plies < 57 * 2 + 2
