from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sgfmill.boards import Board

from ringmaster.errors import IllegalMove
from ringmaster.games.game import Ending, Game
from ringmaster.games.go import (
    GoGame,
    fixed_handicap,
    format_vertex,
    parse_vertex,
)
from ringmaster.model.go_rules import Rules
from tests.contracts.game_contract import GameContract

sizes = st.integers(2, 25)
COLUMNS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"

EVEN = Rules(compensation="no")
TERRITORY = Rules(scoring="territory", compensation="no")


def vertices(size: int) -> list[str]:
    return [f"{COLUMNS[c]}{r + 1}" for r in range(size) for c in range(size)]


def play_all(game: GoGame, moves: str) -> GoGame:
    for move in moves.split():
        game.play(move)
    return game


class GoContract(GameContract):
    size: int

    def new_game(self) -> Game:
        return GoGame(self.size)

    def moves_to_try(self, game: Game, rng: random.Random) -> Sequence[str]:
        # Few points, so that captures, ko and self-capture are common.
        points = vertices(self.size)[: 4 * self.size]
        return [*rng.sample(points, min(6, len(points))), "pass"]


class TestSmallGoFulfilsTheContract(GoContract):
    size = 4


class TestLargeGoFulfilsTheContract(GoContract):
    size = 19


@given(st.sampled_from((2, 3, 4, 5, 7, 9, 13, 19, 25)), st.integers(0, 1 << 32))
@settings(deadline=None)
def test_random_games_agree_with_sgfmill_on_stones_ko_and_area(size: int, seed: int) -> None:
    rng = random.Random(seed)
    # A small corner of the board fills up soon and gives captures of all kinds.
    reach = min(size, rng.choice((3, 5, 25)))
    points = [(c, r) for c in range(reach) for r in range(reach)]
    board, game = Board(size), GoGame(size)
    ko: tuple[int, int] | None = None
    for ply in range(rng.choice((30, 150))):
        colour = "bw"[ply % 2]
        if rng.random() < 0.03:
            game.play("pass")
            ko = None
            continue
        column, row = rng.choice(points)
        move = format_vertex((column, row))
        legal = board.get(row, column) is None and (row, column) != ko
        if legal:
            game.play(move)
            ko = board.play(row, column, colour)
        else:
            with pytest.raises(IllegalMove):
                game.play(move)
            game.play("pass")
            ko = None
        occupied = board.list_occupied_points()
        for side in (0, 1):
            expected = {format_vertex((c, r)) for s, (r, c) in occupied if s == "bw"[side]}
            assert game.stones()[side] == expected
        assert game.ko == (None if ko is None else format_vertex((ko[1], ko[0])))
    black, white = game.area_score()
    assert black - white == board.area_score()
    assert black + white <= size * size


def test_moves_are_stored_in_upper_case_and_passes_in_lower_case() -> None:
    game = play_all(GoGame(9), "d4 E5 Pass PASS")
    assert game.moves == ["D4", "E5", "pass", "pass"]


def test_the_letter_i_is_left_out() -> None:
    game = play_all(GoGame(9), "J9")
    assert game.stones()[0] == {"J9"}
    with pytest.raises(IllegalMove, match="letter I is left out"):
        game.play("I5")


@pytest.mark.parametrize(
    ("move", "reason"),
    [
        ("D4", "occupied"),
        ("K1", "not on a 9x9 board"),
        ("A10", "not on a 9x9 board"),
        ("resign", "not a vertex"),
        ("", "not a vertex"),
    ],
)
def test_an_illegal_move_is_refused_with_the_reason_and_the_position(
    move: str, reason: str
) -> None:
    game = play_all(GoGame(9), "D4")
    with pytest.raises(IllegalMove, match=reason) as caught:
        game.play(move)
    assert caught.value.position == game.position() == "9x9 9/9/9/9/9/3X5/9/9/9 white to move"


def test_two_passes_in_a_row_end_the_game() -> None:
    game = play_all(GoGame(9), "pass D4 pass")
    assert game.ending() is None
    game.play("pass")
    assert game.ending() == Ending(None, "score")


def test_margin_takes_komi_and_compensation_from_black() -> None:
    game = play_all(GoGame(5), "B1 C1 B2 C2 B3 C3 B4 C4 B5 C5")
    assert game.area_score() == (10, 15)
    assert game.margin(0.5, EVEN) == -5.5
    assert game.margin(-5, EVEN) == 0
    assert GoGame(9, setup=("C3", "G7"), to_move=1).margin(0.5, Rules()) == 78.5


@pytest.mark.parametrize(("moves", "points"), [("B1 pass", -0.5), ("pass B1", 0.5), ("B1 C1", 0)])
def test_the_first_pass_is_worth_half_a_point_where_there_is_a_button(
    moves: str, points: float
) -> None:
    game = play_all(GoGame(5), moves)
    button = Rules(button=True)
    assert game.margin(0, button) - game.margin(0, EVEN) == points


@given(st.integers(2, 9), st.booleans(), st.lists(st.integers(0, 80), max_size=200))
@settings(deadline=None)
def test_area_is_territory_and_the_difference_of_stones_played(
    size: int, handicap: bool, choices: list[int]
) -> None:
    points = vertices(size)
    setup = tuple(dict.fromkeys(points[i] for i in (0, len(points) - 1))) if handicap else ()
    game, board = GoGame(size, setup=setup, to_move=int(handicap)), Board(size)
    if handicap:
        board.apply_setup([(0, 0), (size - 1, size - 1)], [], [])
    lost = [0, 0]
    for choice in choices:
        side, before = game.to_move, game.stones()
        move = points[choice % len(points)] if choice % 11 else "pass"
        try:
            game.play(move)
        except IllegalMove:
            continue
        if move != "pass":
            column, row = COLUMNS.index(move[0]), int(move[1:]) - 1
            board.play(row, column, "bw"[side])
            after = game.stones()
            lost[1 - side] += len(before[1 - side] - after[1 - side])
            lost[side] += len((before[side] | {move}) - after[side])
    assert game.margin(0, EVEN) == board.area_score()
    played = game.stones_played()
    assert game.margin(0, EVEN) == game.margin(0, TERRITORY) + played[0] - played[1]
    stones = game.stones()
    area, territory = game.area_score(), game.territory_score()
    for side in (0, 1):
        # what is not a stone is surrounded; the rest are prisoners
        assert territory[side] == area[side] - len(stones[side]) + lost[1 - side]


def test_handicap_stones_are_on_the_board_and_white_moves_first() -> None:
    game = GoGame(19, setup=fixed_handicap(19, 4), to_move=1)
    assert game.stones() == ({"D4", "Q16", "D16", "Q4"}, set())
    assert game.to_move == 1
    assert game.moves == []
    game.play("C3")
    assert game.stones()[1] == {"C3"}


@pytest.mark.parametrize("missing", ["A1", "B2", "C3"])
def test_free_handicap_may_fill_all_points_but_one(missing: str) -> None:
    setup = tuple(v for v in vertices(3) if v != missing)
    game = GoGame(3, setup=setup, to_move=1)
    game.play(missing)
    assert game.stones() == (set(), {missing})


@pytest.mark.parametrize(
    ("size", "setup", "message"),
    [
        (1, (), "board size 1 is not between 2 and 25"),
        (9, ("D4", "d4"), "handicap stone D4 is given twice"),
        (9, ("pass",), "cannot be a pass"),
        (9, ("K4",), "not on a 9x9 board"),
        (2, ("A1", "A2", "B1", "B2"), "4 handicap stones do not fit"),
    ],
)
def test_an_impossible_start_is_refused(size: int, setup: tuple[str, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GoGame(size, setup=setup)


@given(sizes, st.data())
def test_vertices_are_read_back(size: int, data: st.DataObject) -> None:
    point = data.draw(st.tuples(*[st.integers(0, size - 1)] * 2))
    text = format_vertex(point)
    assert parse_vertex(text, size) == point
    assert parse_vertex(text.lower(), size) == point
    assert text in vertices(size)


@given(st.text(max_size=4) | st.from_regex("[a-zA-Z][0-9]{1,3}", fullmatch=True), sizes)
def test_an_invalid_vertex_is_refused(text: str, size: int) -> None:
    allowed = {v for upper in vertices(size) for v in (upper, upper.lower())}
    if text in allowed or text.lower() == "pass":
        parse_vertex(text, size)
    else:
        with pytest.raises(ValueError, match=r"vertex|not on a"):
            parse_vertex(text, size)


def test_a_pass_is_a_vertex_without_a_point() -> None:
    assert parse_vertex("PASS", 9) is None
    assert format_vertex(None) == "pass"


# The figure in section 4.1.1 of the GTP 2 specification.
LAYOUT_19 = {
    2: "D4 Q16",
    4: "D4 Q16 D16 Q4",
    6: "D4 Q16 D16 Q4 D10 Q10",
    7: "D4 Q16 D16 Q4 D10 Q10 K10",
    8: "D4 Q16 D16 Q4 D10 Q10 K4 K16",
    9: "D4 Q16 D16 Q4 D10 Q10 K4 K16 K10",
}


@pytest.mark.parametrize("n", LAYOUT_19)
def test_fixed_handicap_follows_the_gtp_specification(n: int) -> None:
    assert fixed_handicap(19, n) == tuple(LAYOUT_19[n].split())


@pytest.mark.parametrize(
    ("size", "n", "expected"),
    [
        (7, 4, "C3 E5 C5 E3"),
        (9, 5, "C3 G7 C7 G3 E5"),
        (11, 9, "C3 J9 C9 J3 C6 J6 F3 F9 F6"),
        (13, 3, "D4 K10 D10"),
        (25, 2, "D4 W22"),
    ],
)
def test_fixed_handicap_is_on_the_third_line_below_13_and_on_the_fourth_from_there(
    size: int, n: int, expected: str
) -> None:
    assert fixed_handicap(size, n) == tuple(expected.split())


@pytest.mark.parametrize(("size", "n"), [(6, 2), (7, 5), (8, 5), (19, 1), (19, 10), (19, 0)])
def test_a_handicap_without_a_standard_layout_is_refused(size: int, n: int) -> None:
    with pytest.raises(ValueError, match=f"{n} fixed handicap stones on {size}x{size}"):
        fixed_handicap(size, n)
