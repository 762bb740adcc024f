"""Games that a third engine scores."""

from __future__ import annotations

from typing import Any

from ringmaster.errors import EngineCrashed, EngineRebuilt, EngineTimeout
from ringmaster.model.go_rules import NAMED
from ringmaster.model.players import Player
from ringmaster.model.results import REBUILT, GameResult
from ringmaster.play.game_runner import GameRunner
from tests.play.scripted import ScriptedGo, job
from tests.play.test_go_games import X, Y, root_comment

GNUGO = Player("gnugo", ("gnugo",), restart="off")


def scored(
    third: ScriptedGo, black: str = "W+1.5", white: str = "W+1.5", **settings: Any
) -> GameResult:
    """Return a game of three moves and two passes."""
    engines = (
        ScriptedGo(X, ["E5", "F6", "pass"], {"final_score": black}),
        ScriptedGo(Y, ["E6", "pass"], {"final_score": white}),
    )
    game = job(X, Y, game="go", scorer="referee", referee=GNUGO, **settings)
    return GameRunner(game, engines, third=third).play()


class Referee(ScriptedGo):
    """Records what it is told; the first `faults` answers fail."""

    def __init__(self, *faults: Exception, **answers: str) -> None:
        super().__init__(GNUGO, [], {k.replace("__", "-"): v for k, v in answers.items()})
        self.faults = list(faults)

    def require(self, *words: str) -> str:
        if self.faults:
            self.alive = False
            raise self.faults.pop(0)
        return super().require(*words)


def test_a_third_engine_gets_the_moves_and_gives_the_score() -> None:
    third = Referee(final_score="W+3.5", final_status_list="E5 F6")
    result = scored(third, rules=NAMED["japanese"])
    assert (result.outcome, result.winner, result.score) == ("win", 1, "W+3.5")
    moves = [(0, "E5"), (1, "E6"), (0, "F6"), (1, "pass"), (0, "pass")]
    assert third.observed == [(colour, move, False) for colour, move in moves]
    comment = root_comment(result)
    assert "referee gnugo final_score: W+3.5" in comment
    assert "dead stones: E5 F6" in comment
    # the players' margins differ, their winner does not
    assert [used.disputed for used in result.usage] == [False, False]


def test_handicap_stones_are_placed_for_the_third_engine() -> None:
    third = Referee(final_score="B+9", set_free_handicap="")
    engines = (
        ScriptedGo(X, ["pass"], {"fixed_handicap": "C3 G7"}),
        ScriptedGo(Y, ["E5", "pass"], {"fixed_handicap": "C3 G7"}),
    )
    game = job(X, Y, game="go", scorer="referee", referee=GNUGO, handicap=2)
    assert GameRunner(game, engines, third=third).play().score == "B+9"
    assert ("set_free_handicap", "C3", "G7") in third.commands
    assert third.observed[0] == (1, "E5", False)


def test_players_that_name_another_winner_dispute_the_game() -> None:
    result = scored(Referee(final_score="B+0.5"), black="B+7.5", white="W+2.5")
    assert result.winner == 0
    assert [used.disputed for used in result.usage] == [False, True]
    assert "y final_score: W+2.5" in root_comment(result)


def test_a_referee_that_fails_once_is_started_again() -> None:
    third = Referee(EngineCrashed("it exited", "gnugo"), final_score="0")
    result = scored(third)
    assert result.outcome == "draw"
    assert (third.launches, third.ends) == (2, 1)
    assert "the referee gnugo: it exited; it was started again" in root_comment(result)


def test_a_rebuilt_referee_is_told_by_its_name() -> None:
    result = scored(Referee(EngineRebuilt("judge was rebuilt during the run", "gnugo")))
    assert (result.outcome, result.reason) == ("void", REBUILT)
    assert result.detail == "gnugo: judge was rebuilt during the run"


def test_a_score_stands_without_dead_stones() -> None:
    class Mute(Referee):
        def optional(self, *words: str) -> str | None:
            raise EngineTimeout("no answer in 60 s", "gnugo")

    third = Mute(final_score="B+2")
    result = scored(third)
    assert (result.score, third.launches) == ("B+2", 1)
    assert "dead stones" not in root_comment(result)


def test_a_referee_that_fails_again_makes_the_game_void_by_nobodys_fault() -> None:
    faults = EngineCrashed("it exited", "gnugo"), EngineTimeout("no answer in 60 s", "gnugo")
    result = scored(Referee(*faults, final_score="0"))
    assert (result.outcome, result.reason, result.faulty) == ("void", "referee", None)
    assert result.detail == "the referee gnugo: no answer in 60 s"


def test_a_referee_that_gives_no_score_makes_the_game_void() -> None:
    result = scored(Referee(final_score="cannot score"))
    assert (result.outcome, result.reason) == ("void", "referee")
    assert result.detail == "the referee gnugo: its final_score 'cannot score' is no score"
