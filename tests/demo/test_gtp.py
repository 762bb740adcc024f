"""The demo Go engine: its protocol, its moves and its weights."""

from __future__ import annotations

import pytest
import sgfmill.boards
from hypothesis import given, settings
from hypothesis import strategies as st

from ringmaster.demo.go_board import Position, geometry
from ringmaster.demo.go_player import WEIGHTS
from ringmaster.demo.gtp import GoEngine
from ringmaster.demo.options import Option
from ringmaster.games.vertices import parse_vertex
from tests.demo.scripted import ScriptedConsole


def engine(size: int = 9, **weights: int) -> GoEngine:
    made = GoEngine(ScriptedConsole())
    ask(made, f"boardsize {size}")
    for name, value in weights.items():
        ask(made, f"ringmaster-param {name} {value}")
    return made


def ask(made: GoEngine, line: str) -> str:
    """Return the text of a success response."""
    first, *rest, last = made.handle(line)
    assert first.startswith("="), (line, first)
    assert last == ""
    return "\n".join([first[1:].strip(), *rest])


def refusal(made: GoEngine, line: str) -> str:
    first, last = made.handle(line)
    assert first.startswith("? ")
    assert last == ""
    return first[2:]


def self_play(black: GoEngine, white: GoEngine) -> list[str]:
    """Play until two passes; each engine has to take the moves of the other."""
    moves: list[str] = []
    for engine_ in {id(black): black, id(white): white}.values():
        ask(engine_, "clear_board")
    while moves[-2:] != ["pass", "pass"]:
        mover, other, colour = (black, white, "b") if len(moves) % 2 == 0 else (white, black, "w")
        moves.append(ask(mover, f"genmove {colour}"))
        if other is not mover:
            ask(other, f"play {colour} {moves[-1]}")
    return moves


def test_a_short_dialogue() -> None:
    made = engine()
    assert ask(made, "protocol_version") == "2"
    assert ask(made, "name") == "ringmaster demo"
    assert "genmove" in ask(made, "list_commands").split("\n")
    assert ask(made, "known_command genmove") == "true"
    assert ask(made, "known_command xyzzy") == "false"
    assert ask(made, "komi 5.5") == ""
    assert made.handle("7 play black D4 # tengen") == ["=7", ""]
    assert made.handle("8 play white\tE5\x07") == ["=8", ""]
    assert "5 . . . . O . . . ." in ask(made, "showboard")
    assert "4 . . . X . . . . ." in ask(made, "showboard")
    assert ask(made, "final_score") == "W+5.5"
    assert made.handle("9 xyzzy") == ["?9 unknown command", ""]
    assert made.handle("# only a comment") == []
    assert made.handle("   ") == []
    assert ask(made, "quit") == ""
    assert made.quit


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("boardsize 26", "unacceptable size"),
        ("boardsize nine", "boardsize not an integer"),
        ("boardsize", "expected a size"),
        ("komi nan", "komi not a number"),
        ("play b Z9", "invalid vertex"),
        ("play b J10", "invalid vertex"),
        ("play green D4", "invalid color"),
        ("play b", "play needs a colour and a vertex"),
        ("genmove", "expected a colour"),
        ("undo", "cannot undo"),
        ("fixed_handicap 1", "invalid number of stones"),
        ("fixed_handicap 10", "invalid number of stones"),
        ("set_free_handicap D4 D4", "D4 is given twice"),
        ("set_free_handicap D4", "invalid number of stones"),
        ("place_free_handicap 81", "invalid number of stones"),
        ("time_settings 1 2", "needs 3 whole numbers"),
        ("time_left b x 0", "needs 2 whole numbers"),
        ("kgs-time_settings", "needs one of none, absolute, byoyomi, canadian"),
        ("kgs-time_settings fischer 1 2", "needs one of none, absolute, byoyomi, canadian"),
        ("kgs-time_settings byoyomi 1 2", "needs 3 whole numbers"),
        ("kgs-genmove_cleanup", "expected a colour"),
        ("gomill-genmove_ex green", "invalid color"),
        ("ringmaster-param Capture 900", "Capture must lie in -100 to 200, not 900"),
        ("ringmaster-param Luck 1", "unknown option 'Luck'"),
    ],
)
def test_wrong_arguments_are_refused(line: str, said: str) -> None:
    assert said in refusal(engine(), line)


def test_occupied_point_suicide_and_ko_are_illegal() -> None:
    made = engine()
    ask(made, "play b A2")
    assert refusal(made, "play w A2") == "illegal move"
    ask(made, "play b B1")
    assert refusal(made, "play w A1") == "illegal move"
    for move in ("b D5", "b E4", "b E6", "w F4", "w F6", "w G5", "w E5", "b F5"):
        ask(made, f"play {move}")
    assert "5 . . . X . X O . ." in ask(made, "showboard")
    assert refusal(made, "play w E5") == "illegal move"
    ask(made, "play w J9")
    ask(made, "play b J1")
    ask(made, "play w E5")


def test_undo_takes_back_captures() -> None:
    made = engine()
    for move in ("b A1", "w A2"):
        ask(made, f"play {move}")
    before = ask(made, "showboard")
    ask(made, "play w B1")
    assert ask(made, "showboard") != before
    ask(made, "undo")
    assert ask(made, "showboard") == before


def test_handicaps() -> None:
    made = engine()
    assert ask(made, "fixed_handicap 3") == "C3 G7 C7"
    assert refusal(made, "fixed_handicap 2") == "board not empty"
    ask(made, "clear_board")
    assert len(ask(made, "place_free_handicap 30").split()) == 9
    ask(made, "clear_board")
    ask(made, "set_free_handicap A1 B2 C3")
    assert ask(made, "showboard").count("X") == 3
    for size in range(2, 26):
        small = engine(size)
        assert len(set(ask(small, "place_free_handicap 2").split())) == 2


def test_stones_in_atari_are_taken_and_saved() -> None:
    made = engine(Noise=0)
    for move in ("b E5", "w E6", "w D5", "w F5"):
        ask(made, f"play {move}")
    assert ask(made, "genmove w") == "E4"
    assert "Capture +30" in ask(made, "gomill-explain_last_move")
    ask(made, "undo")
    assert ask(made, "genmove b") == "E4"
    assert "Escape +25" in ask(made, "gomill-explain_last_move")


def test_description_names_changed_weights() -> None:
    made = engine()
    assert "as shipped" in ask(made, "gomill-describe_engine")
    ask(made, "ringmaster-param capture 55")
    assert "Capture=55" in ask(made, "gomill-describe_engine")
    assert "Capture 55 -100 200" in ask(made, "ringmaster-params").split("\n")


@pytest.mark.parametrize("line", ["none", "absolute 60", "byoyomi 60 30 5", "canadian 60 300 25"])
def test_kgs_clocks_are_accepted(line: str) -> None:
    assert ask(engine(), f"kgs-time_settings {line}") == ""


#: Black's wall of two columns on 7x7, with two eyes; White has a few stones on
#: either side.
WALL = [f"C{row}" for row in range(1, 8)] + ["B2", "A2", "B6", "A6"]


def walled(*white: str) -> GoEngine:
    made = engine(7)
    for vertex in WALL:
        ask(made, f"play b {vertex}")
    for vertex in white:
        ask(made, f"play w {vertex}")
    return made


def test_a_win_is_claimed_once_it_is_certain() -> None:
    made = walled("F3")
    assert ask(made, "gomill-genmove_ex") == "claim"
    # 11 stones and the eyes at either end, 15 points, are safe whatever happens:
    # 19 fewer than the 34 that White could still get
    ask(made, "komi -18.5")
    assert ask(made, "gomill-genmove_ex b claim") != "claim"
    ask(made, "undo")
    ask(made, "komi -19.5")
    assert ask(made, "gomill-genmove_ex b claim") == "claim"
    assert "cannot lose" in ask(made, "gomill-explain_last_move")
    assert ask(made, "gomill-genmove_ex b") != "claim"
    ask(made, "undo")
    assert ask(made, "gomill-genmove_ex w claim") != "claim"


def test_an_eye_that_can_be_taken_is_not_safe() -> None:
    made = engine(5)
    for vertex in ("A2", "B2", "B1"):
        ask(made, f"play b {vertex}")
    ask(made, "komi -24.5")
    assert ask(made, "gomill-genmove_ex b claim") != "claim"


def test_cleanup_takes_dead_stones_and_then_passes() -> None:
    made = walled("A4", "B4")
    moves = []
    while (move := ask(made, "kgs-genmove_cleanup b")) != "pass":
        moves.append(move)
        assert len(moves) < 10
    assert "O" not in ask(made, "showboard")
    assert "nothing to take" in ask(made, "gomill-explain_last_move")


def test_cleanup_leaves_living_stones_and_own_ground_alone() -> None:
    made = engine(7)
    for row in range(1, 8):
        ask(made, f"play b C{row}")
        ask(made, f"play w E{row}")
    assert ask(made, "kgs-genmove_cleanup b") == "pass"
    assert ask(made, "kgs-genmove_cleanup w") == "pass"


def test_time_commands_are_accepted_and_cpu_time_is_a_number() -> None:
    made = engine()
    ask(made, "time_settings 60 10 5")
    ask(made, "time_left b 30 2")
    assert float(ask(made, "gomill-cpu_time")) > 0


@pytest.mark.parametrize("size", [2, 3, 5, 7, 9, 13])
def test_games_end_with_legal_moves_and_the_area_score(size: int) -> None:
    black, white = engine(size, Seed=1), engine(size, Seed=2)
    ask(black, "komi 0")
    moves = self_play(black, white)
    assert len(moves) <= 4 * size * size + 3
    oracle = sgfmill.boards.Board(size)
    ko = None
    for number, move in enumerate(moves):
        point = parse_vertex(move, size)
        if point is None:
            ko = None
            continue
        column, row = point
        assert (row, column) != ko
        before = oracle.copy()
        ko = oracle.play(row, column, "bw"[number % 2])
        assert oracle.get(row, column) == "bw"[number % 2], "suicide"
        assert before.get(row, column) is None
    score = oracle.area_score()
    expected = "0" if score == 0 else f"{'B' if score > 0 else 'W'}+{abs(score)}"
    assert ask(black, "final_score") == expected == ask_with_komi(white, 0)


def ask_with_komi(made: GoEngine, komi: float) -> str:
    ask(made, f"komi {komi}")
    return ask(made, "final_score")


def test_games_end_even_when_weights_want_stones_thrown_away() -> None:
    made = engine(5, Capture=-100, SelfAtari=-100, Escape=-100, Noise=1000)
    assert len(self_play(made, made)) <= 4 * 25 + 3


def test_only_own_eyes_are_left_alone() -> None:
    made = engine(5)
    for vertex in ("A4", "B4", "B5", "C4", "D4", "D5", "E4"):
        ask(made, f"play b {vertex}")
    seen = {ask(made, "genmove b") for _ in range(20)}
    assert not {"A5", "C5", "E5"} & seen
    assert ask(made, "genmove b") == "pass"
    assert "own eyes" in ask(made, "gomill-explain_last_move")


def test_a_won_game_is_ended_after_the_other_side_passed() -> None:
    made = engine()
    ask(made, "play b E5")
    ask(made, "play w pass")
    assert ask(made, "genmove b") == "pass"
    ask(made, "undo")
    ask(made, "play w pass")
    ask(made, "komi 200")
    assert ask(made, "genmove b") != "pass"


def test_same_seed_gives_the_same_game_and_another_seed_another() -> None:
    first, again, other = (self_play(engine(Seed=s), engine(Seed=s)) for s in (1, 1, 2))
    assert first == again
    assert first != other


@pytest.mark.parametrize("option", WEIGHTS, ids=lambda option: option.name)
def test_each_weight_changes_play(option: Option) -> None:
    usual = self_play(engine(Noise=0), engine(Noise=0))
    changed = [engine(Noise=0, **{option.name: option.min}) for _ in range(2)]
    assert self_play(*changed) != usual


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 9), st.lists(st.tuples(st.integers(0, 80), st.booleans()), max_size=120))
def test_board_agrees_with_sgfmill(size: int, moves: list[tuple[int, bool]]) -> None:
    board, position, oracle = geometry(size), Position(), sgfmill.boards.Board(size)
    for number, white in moves:
        row, column = divmod(number % (size * size), size)
        after = position.play(board, row * board.stride + column, int(white))
        if after is None:
            # Occupied, ko, or suicide: then the oracle takes the stone off.
            if oracle.get(row, column) is None and not position.ko:
                trial = oracle.copy()
                trial.play(row, column, "bw"[white])
                assert trial.get(row, column) is None
            continue
        ko = oracle.play(row, column, "bw"[white])
        position = after
        assert position.ko == (0 if ko is None else 1 << ko[0] * board.stride + ko[1])
        for colour, point in oracle.list_occupied_points():
            assert (position.white if colour == "w" else position.black) >> (
                point[0] * board.stride + point[1]
            ) & 1
        assert (position.black | position.white).bit_count() == len(oracle.list_occupied_points())
    black, white_area = position.area(board)
    assert black - white_area == oracle.area_score()


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.text(max_size=60),
            st.tuples(
                st.sampled_from(sorted(engine()._commands)),
                st.lists(
                    st.one_of(
                        st.sampled_from(["b", "w", "D4", "pass", "9", "2", "-1", "1e999", "Seed"]),
                        st.text(max_size=8),
                    ),
                    max_size=3,
                ),
            ).map(lambda pair: " ".join([pair[0], *pair[1]])),
        ),
        max_size=8,
    )
)
def test_any_text_at_all_gets_one_well_formed_response(lines: list[str]) -> None:
    made = engine(5)
    for line in lines:
        answer = made.handle(line)
        if answer:
            assert answer[0][0] in "=?"
            assert answer[-1] == ""
            assert all(part and part.isprintable() for part in answer[:-1])
    assert ask(made, "protocol_version") == "2"
