"""The demo Go engine: its protocol, its moves and its weights."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringmaster.demo.console import Option
from ringmaster.demo.go_engine import WEIGHTS, GoEngine
from ringmaster.games.go import StrictGoGame
from ringmaster.model.go_rules import Rules
from tests.demo.scripted import ScriptedConsole


def new_engine(size: int = 9, **weights: int) -> GoEngine:
    engine = GoEngine(ScriptedConsole())
    ask(engine, f"boardsize {size}")
    for name, value in weights.items():
        ask(engine, f"kata-set-param {name} {value}")
    return engine


def ask(engine: GoEngine, line: str) -> str:
    """Return the text of a success response."""
    first, *rest, last = engine.handle(line)
    assert first.startswith("="), (line, first)
    assert last == ""
    return "\n".join([first[1:].strip(), *rest])


def refusal(engine: GoEngine, line: str) -> str:
    first, last = engine.handle(line)
    assert first.startswith("? ")
    assert last == ""
    return first[2:]


def self_play(black: GoEngine, white: GoEngine) -> list[str]:
    """Play until two passes; each engine has to take the moves of the other."""
    moves: list[str] = []
    while moves[-2:] != ["pass", "pass"]:
        mover, other, colour = (black, white, "b") if len(moves) % 2 == 0 else (white, black, "w")
        moves.append(ask(mover, f"genmove {colour}"))
        if other is not mover:
            ask(other, f"play {colour} {moves[-1]}")
    return moves


def test_a_short_dialogue() -> None:
    engine = new_engine()
    assert ask(engine, "protocol_version") == "2"
    assert ask(engine, "name") == "ringmaster demo"
    assert "genmove" in ask(engine, "list_commands").split("\n")
    assert ask(engine, "known_command genmove") == "true"
    assert ask(engine, "known_command xyzzy") == "false"
    assert ask(engine, "komi 5.5") == ""
    assert engine.handle("7 play black D4 # tengen") == ["=7", ""]
    assert engine.handle("8 play white\tE5\x07") == ["=8", ""]
    assert ask(engine, "final_score") == "W+5.5"
    assert engine.handle("9 xyzzy") == ["?9 unknown command", ""]
    assert ask(engine, "time_settings 60 10 5") == ask(engine, "time_left b 30 2") == ""
    assert float(ask(engine, "gomill-cpu_time")) > 0
    assert engine.handle("# only a comment") == []
    assert engine.handle("   ") == []
    assert ask(engine, "quit") == ""
    assert engine.quit


@pytest.mark.parametrize(
    "line",
    [
        *("boardsize 26", "boardsize nine", "boardsize", "komi nan", "play b Z9", "play green D4"),
        *("play b", "genmove", "undo", "fixed_handicap 1", "fixed_handicap 10"),
        *("set_free_handicap D4 D4", "set_free_handicap D4", "time_settings 1 2"),
        *("kata-set-param Capture 900", "kata-set-param Luck 1", "kata-get-param Luck"),
        *("kata-set-rules stone-scoring", "kata-set-rule tax all", "kata-set-rule suicide maybe"),
        *("kata-genmove_analyze", "lz-genmove_analyze 100", "final_status_list", "lz-setoption"),
        *("lz-setoption name threads value 2", "lz-setoption name visits value -1"),
    ],
)
def test_wrong_arguments_are_refused(line: str) -> None:
    refusal(new_engine(), line)


def test_occupied_point_and_ko_are_illegal() -> None:
    engine = new_engine()
    ask(engine, "play b A2")
    assert "occupied" in refusal(engine, "play w A2")
    for move in ("b D5", "b E4", "b E6", "w F4", "w F6", "w G5", "w E5", "b F5"):
        ask(engine, f"play {move}")
    assert "ko" in refusal(engine, "play w E5")
    ask(engine, "play w J9")
    ask(engine, "play b J1")
    ask(engine, "play w E5")


def test_undo_takes_back_captures() -> None:
    engine = new_engine()
    for move in ("b A1", "w A2"):
        ask(engine, f"play {move}")
    before = ask(engine, "final_score")
    ask(engine, "play w B1")
    assert ask(engine, "final_score") != before
    ask(engine, "undo")
    assert ask(engine, "final_score") == before


def test_handicaps() -> None:
    engine = new_engine()
    assert ask(engine, "fixed_handicap 3") == "C3 G7 C7"
    assert refusal(engine, "fixed_handicap 2") == "board not empty"
    ask(engine, "clear_board")
    assert len(ask(engine, "place_free_handicap 30").split()) == 9
    ask(engine, "clear_board")
    ask(engine, "set_free_handicap A1 B2 C3")
    assert ask(engine, "final_score") == "B+74.5"
    for size in range(2, 26):
        small = new_engine(size)
        assert len(set(ask(small, "place_free_handicap 2").split())) == 2


def test_stones_in_atari_are_taken() -> None:
    engine = new_engine(Noise=0)
    for move in ("b E5", "w E6", "w D5", "w F5"):
        ask(engine, f"play {move}")
    assert ask(engine, "genmove w") == "E4"
    assert "Capture +30" in ask(engine, "gomill-explain_last_move")


@pytest.mark.parametrize("size", [2, 3, 7, 9])
def test_games_end_with_legal_moves_and_the_area_score(size: int) -> None:
    black, white = new_engine(size, Seed=1), new_engine(size, Seed=2)
    moves = self_play(black, white)
    assert len(moves) <= 4 * size * size + 3
    game = StrictGoGame(size, ko_rule="simple", suicide=False)
    for move in moves:
        game.play(move)
    margin = game.margin(6.5, Rules())
    score = f"{'B' if margin > 0 else 'W'}+{abs(margin):g}"
    assert ask(black, "final_score") == score == ask(white, "final_score")


def test_games_end_even_when_weights_want_stones_thrown_away() -> None:
    engine = new_engine(5, Capture=-100, Liberties=-50, Noise=1000)
    assert len(self_play(engine, engine)) <= 4 * 25 + 3


def test_only_own_eyes_are_left_alone() -> None:
    engine = new_engine(5)
    for vertex in ("A4", "B4", "B5", "C4", "D4", "D5", "E4"):
        ask(engine, f"play b {vertex}")
    seen = {ask(engine, "genmove b") for _ in range(20)}
    assert not {"A5", "C5", "E5"} & seen
    assert ask(engine, "genmove b") == "pass"
    assert "own eyes" in ask(engine, "gomill-explain_last_move")


def test_a_won_game_is_ended_after_the_other_side_passed() -> None:
    engine = new_engine()
    ask(engine, "play b E5")
    ask(engine, "play w pass")
    assert ask(engine, "genmove b") == "pass"
    ask(engine, "undo")
    ask(engine, "play w pass")
    ask(engine, "komi 200")
    assert ask(engine, "genmove b") != "pass"


@pytest.mark.parametrize("option", WEIGHTS, ids=lambda option: option.name)
def test_each_weight_changes_play(option: Option) -> None:
    usual = self_play(new_engine(Noise=0), new_engine(Noise=0))
    changed = [new_engine(Noise=0, **{option.name: option.min}) for _ in range(2)]
    assert self_play(*changed) != usual


def test_same_seed_gives_the_same_game_and_another_seed_another() -> None:
    first, again, other = (self_play(new_engine(Seed=s), new_engine(Seed=s)) for s in (1, 1, 2))
    assert first == again != other


def test_rules_hold_for_the_moves_of_both_sides() -> None:
    engine = new_engine(5)
    ask(engine, "kata-set-rules chinese")
    for move in ("b A2", "b B1"):
        ask(engine, f"play {move}")
    assert "self-capture" in refusal(engine, "play w A1")
    # in a game that has begun they stay
    ask(engine, "kata-set-rules new-zealand")
    refusal(engine, "play w A1")
    ask(engine, "clear_board")
    for move in ("b A2", "b B1", "w A1"):
        ask(engine, f"play {move}")


@pytest.mark.parametrize(("rules", "retakes"), [("chinese", True), ("chinese-ogs", False)])
def test_superko_is_obeyed_by_the_engine_itself(rules: str, retakes: bool) -> None:
    engine = new_engine(5, Noise=0, Capture=200)
    ask(engine, f"kata-set-rules {rules}")
    ask(engine, "komi -20")
    around = ("b B1", "w C1", "b A2", "w D2", "b B3", "w C3", "b E5")
    # after two passes only the superko forbids to retake
    for move in (*around, "w B2", "b C2", "w pass", "b pass"):
        ask(engine, f"play {move}")
    values, move = analysed(engine, "kata-genmove_analyze w")
    assert (move == "B2") == retakes
    assert values[0]["move"] == move


def test_the_score_follows_the_rules() -> None:
    engine = new_engine()
    ask(engine, "fixed_handicap 3")
    ask(engine, "komi 0.5")
    ask(engine, "play w E5")
    scores = {}
    for rules in ("tromp-taylor", "chinese", "aga", "japanese"):
        ask(engine, f"kata-set-rules {rules}")
        scores[rules] = ask(engine, "final_score")
    assert scores == {
        "tromp-taylor": "B+1.5",
        "chinese": "W+1.5",
        "aga": "W+0.5",
        "japanese": "W+0.5",
    }
    ask(engine, "kata-set-rules japanese")
    ask(engine, "clear_board")
    for move in ("b A2", "w A1", "b B1"):
        ask(engine, f"play {move}")
    # a captive, and all other points
    assert ask(engine, "final_score") == "B+79.5"


def test_the_first_pass_takes_the_button() -> None:
    engine = new_engine()
    for command in ("kata-set-rules aga-button", "komi 0.5", "fixed_handicap 3", "play w pass"):
        ask(engine, command)
    # 81 points; komi, two points for handicap stones, and the button
    assert ask(engine, "final_score") == "B+78"


def test_status_and_score_agree_that_all_stones_are_alive() -> None:
    engine = new_engine(5)
    for move in ("b A2", "w A1"):
        ask(engine, f"play {move}")
    assert ask(engine, "final_status_list alive") == "A1 A2"
    assert ask(engine, "final_status_list dead") == ask(engine, "final_status_list seki") == ""


def analysed(engine: GoEngine, line: str) -> tuple[list[dict[str, str]], str]:
    """Return the values of each move, and the move."""
    _, analysis, play = engine.handle(line)[:3]
    groups = [text.split() for text in analysis.split("info ")[1:]]
    values = [dict(zip(words[::2], words[1::2], strict=False)) for words in groups]
    return values, play.removeprefix("play ")


def test_analysis_plays_the_same_move_as_genmove() -> None:
    stones = ("b E5", "w E6", "b A1", "w D5", "b A9", "w F5")
    plain, kata, lz = (new_engine(Noise=0) for _ in range(3))
    for engine in (plain, kata, lz):
        for move in stones:
            ask(engine, f"play {move}")
    values, move = analysed(kata, "kata-genmove_analyze w rootInfo true")
    assert move == ask(plain, "genmove w") == values[0]["move"] == values[0]["pv"] == "E4"
    values_of_lz, move = analysed(lz, "lz-genmove_analyze w")
    assert move == "E4"
    shares = [round(10000 * float(group["winrate"])) for group in values]
    assert [int(group["winrate"]) for group in values_of_lz] == shares


def test_lead_is_the_movers_after_its_captures() -> None:
    engine = new_engine(2)
    for move in ("b A1", "w A2"):
        ask(engine, f"play {move}")
    values, move = analysed(engine, "kata-genmove_analyze w")
    assert move == "B1"
    # White has all four points; without the capture two to one, and one for nobody
    assert {group["move"]: group["scoreLead"] for group in values} == {"B1": "10.5", "B2": "7.5"}
    for colour, komi in (("b", 300), ("w", -300)):
        other = new_engine()
        ask(other, f"komi {komi}")
        values, _ = analysed(other, f"kata-genmove_analyze {colour}")
        assert float(values[0]["winrate"]) < 0.01


def test_visits_limit_the_moves_that_are_evaluated() -> None:
    engine = new_engine()
    for command in ("kata-set-param maxVisits 4", "lz-setoption name Playouts value 3"):
        ask(engine, command)
    values, move = analysed(engine, "kata-genmove_analyze b rootInfo true")
    assert [group["visits"] for group in values] == ["1"] * 3
    assert move == values[0]["move"]
    ask(engine, "clear_board")
    ask(engine, "lz-setoption name playouts value 0")
    assert len(analysed(engine, "kata-genmove_analyze b")[0]) == 4
    values, _ = analysed(new_engine(), "kata-genmove_analyze b")
    assert {group["visits"] for group in values} == {"1"}
    assert len(values) == 81


@pytest.mark.slow
def test_more_visits_play_better() -> None:
    wins = []
    for visits in (1, 8):
        wins.append(0)
        for number in range(40):
            weak = new_engine(7, Seed=number, maxVisits=visits)
            strong = new_engine(7, Seed=number + 1000)
            black, white = (weak, strong) if number % 2 else (strong, weak)
            self_play(black, white)
            wins[-1] += (ask(black, "final_score")[0] == "B") == (black is weak)
    assert wins[0] < wins[1] < 20


WORDS = [
    "japanese",
    "ko",
    '{"ko":[',
    "rootInfo",
    "b",
    "w",
    "D4",
    "pass",
    "9",
    "2",
    "-1",
    "1e999",
    "Seed",
    "é",
]


@settings(deadline=None)
@given(st.data())
def test_any_text_at_all_gets_one_well_formed_response(data: st.DataObject) -> None:
    engine = new_engine(5)
    names = [*ask(engine, "list_commands").split("\n"), "x"]
    for _ in range(8):
        words = data.draw(st.lists(st.sampled_from(WORDS), max_size=3))
        answer = engine.handle(" ".join([data.draw(st.sampled_from(names)), *words]))
        assert answer[0][0] in "=?"
        assert answer[-1] == ""
        assert all(part and part.isprintable() for part in answer[:-1])
    engine.handle(data.draw(st.text(max_size=60)))
    assert ask(engine, "protocol_version") == "2"
