"""Tests that an interrupted competition ends as an uninterrupted one does."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import hypothesis
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.model.jobs import GameJob, Ticket
from ringmaster.model.results import GameResult
from tests.competitions.settings_of import AGAINST_OPPONENT, call, drawn, make, uci, void, won
from tests.competitions.test_spsa import KINDS, tune_of
from tests.requirements import package

pytestmark = pytest.mark.slow


class Play:
    """A competition with a store: a state, later results, and outstanding jobs.

    fresh  returns a new competition with the same settings
    """

    def __init__(self, fresh: Callable[[], Any]) -> None:
        self._fresh = fresh
        self.competition = fresh()
        self._state = b""
        self._since: list[tuple[Ticket, GameResult]] = []
        self.issued: dict[str, GameJob] = {}
        self.save()

    def save(self) -> None:
        """Store the state after the last result."""
        self._state = msgspec.json.encode(self.competition.state())
        self._since = []

    def issue(self) -> GameJob | None:
        """Issue a job."""
        job: GameJob | None = self.competition.next_job()
        if job is not None:
            assert job.id not in self.issued, "an id is used twice"
            self.issued[job.id] = job
        return job

    def finish(self, game_id: str, result: GameResult) -> Any:
        """Record the result of an issued job."""
        job = self.issued.pop(game_id)
        ticket = msgspec.json.decode(msgspec.json.encode(job.ticket))
        self._since.append((ticket, result))
        reaction = self.competition.record_result(ticket, result)
        if reaction.replay:
            self.issued[job.id] = msgspec.structs.replace(job, attempt=job.attempt + 1)
        return reaction

    def interrupt(self) -> None:
        """Stop and start again."""
        self.competition = self._fresh()
        self.competition.restore(msgspec.json.decode(self._state))
        for ticket, result in self._since:
            self.competition.record_result(ticket, result)
        self.competition.watch.clear()
        self.competition.apply_edits([job.ticket for job in self.issued.values()])
        for game_id, job in list(self.issued.items()):
            ticket = msgspec.json.decode(msgspec.json.encode(job.ticket))
            if self.competition.resume(ticket):
                resumed = self.competition.make_job(game_id, job.attempt, ticket)
                assert resumed == msgspec.structs.replace(job, ticket=resumed.ticket)
                self.issued[game_id] = resumed


def chess(type_name: str, **settings: Any) -> Any:
    players = {code: uci() for code in "abcdefghi"}
    return make(type_name, game="chess", players=players, **settings)


def mc_parameter(code: str) -> Any:
    return call("Parameter", code, scale=call("LINEAR", 0, 8), split=2)


def ce_parameter(code: str) -> Any:
    return call("Parameter", code, initial_mean=0.5, initial_variance=1)


def optuna_tuner(rng: random.Random) -> Callable[[], Any]:
    """Return settings with any sampler that needs no large package."""
    style = call("Parameter", "style", start="solid", choices=["solid", "wild"])
    risk = call("Parameter", "risk", start=2, min=1, max=9, scale="log", only_if={"style": "wild"})
    x, y = (call("Parameter", code, start=50, min=0, max=100, integer=True) for code in "xy")
    settings = {
        "player": "a",
        "parameters": [x, y, style, risk],
        "sampler": rng.choice(["tpe", "cmaes", "nsga2", "qmc", "random"]),
        "opponent": rng.choice([None, "b", ["b", "c"]]),
        "constraint": lambda x, y, style, risk: x + y >= 40,
        "end_hopeless": rng.choice([None, 0.3]),
        "number_of_trials": 25,
        "games_per_trial": rng.choice([2, 6]),
        "verify": call("Verify", 6),
    }
    return lambda: chess("optuna_tuner", **settings)


#: A function from random numbers to the settings of a type.
SETTINGS: dict[str, Callable[[random.Random], Callable[[], Any]]] = {
    "playoff": lambda rng: (
        lambda: chess(
            "playoff",
            matchups=[
                call("Matchup", "a", "b", number_of_games=7),
                call("Matchup", "b", "c", alternating=False),
                call("Matchup", "a", "a", id="self", number_of_games=9),
            ],
        )
    ),
    "SPRT": lambda rng: (
        lambda: chess(
            "playoff",
            matchups=[call("Matchup", "a", "b", sprt=call("SPRT", -150, 150), number_of_games=99)],
        )
    ),
    "stages": lambda rng: (
        lambda count: (
            lambda: chess(
                "playoff",
                matchups=[call("Matchup", code, "i") for code in "abc"[:count]],
                race=call("Race", error=0.4, number_of_games=12) if count > 1 else None,
                stages=[
                    call("Stage", "short", sprt=call("SPRT", -150, 150), number_of_games=20),
                    call("Stage", "long", number_of_games=6, only_if="short passed"),
                    call("Stage", "other", stop_at=call("Precision", 300), number_of_games=9),
                ],
            )
        )
    )(rng.randint(1, 3)),
    "ladder": lambda rng: (
        lambda komi_step: (
            lambda: make(
                "playoff",
                players={code: call("Player", "engine") for code in "ab"},
                board_size=9,
                komi=7,
                matchups=[call("Matchup", "a", "b")],
                handicap_ladder=call("HandicapLadder", komi_step=komi_step, precision=2),
            )
        )
    )(rng.choice([None, 2])),
    "allplayall": lambda rng: lambda: chess("allplayall", competitors=list("abcd"), rounds=5),
    "gauntlet": lambda rng: (
        lambda: chess("gauntlet", challengers=["a", "b"], opponents=["c", "d"], rounds=5)
    ),
    "swiss": lambda rng: (
        lambda count, games: (
            lambda: chess(
                "swiss", competitors=list("abcdefghi"[:count]), rounds=4, games_per_pairing=games
            )
        )
    )(rng.randint(2, 9), rng.randint(1, 3)),
    "mc_tuner": lambda rng: (
        lambda depth, virtual: (
            lambda: make(
                "mc_tuner",
                **{**AGAINST_OPPONENT, "candidate_colour": "random"},
                parameters=[mc_parameter("x"), mc_parameter("y")],
                max_depth=depth,
                virtual_visits=virtual,
                exploration_coefficient=0.4,
                initial_visits=2,
                initial_wins=1,
                number_of_games=40,
            )
        )
    )(rng.randint(1, 3), rng.random() < 0.5),
    "clop_tuner": lambda rng: (
        lambda replications, kind: (
            lambda: chess(
                "clop_tuner",
                player="a",
                opponent={"b": 1, "c": 2},
                parameters=[
                    call("Parameter", "x", min=1, max=9),
                    call("Parameter", "y", 1, 9, scale=kind),
                ],
                candidate_colour="random",
                replications=replications,
                number_of_games=40,
                verify=call("Verify", 6),
            )
        )
    )(rng.randint(1, 2), rng.choice(["linear", "log"])),
    "ce_tuner": lambda rng: (
        lambda: make(
            "ce_tuner",
            **{**AGAINST_OPPONENT, "candidate_colour": "random"},
            parameters=[ce_parameter("x"), ce_parameter("y")],
            number_of_generations=3,
            samples_per_generation=4,
            batch_size=3,
            elite_proportion=0.5,
            step_size=0.8,
        )
    ),
    "optuna_tuner": optuna_tuner,
    "spsa": lambda rng: (lambda kind: lambda: tune_of(kind, verify=call("Verify", games=6)))(
        rng.choice(list(KINDS))
    ),
}


def random_result(rng: random.Random, job: GameJob) -> GameResult:
    first, second = (player.code for player in job.players)
    return rng.choice(
        [won(job, first), won(job, first), won(job, second), drawn(job), void(job, first)]
    )


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(n, marks=pytest.mark.optional if n.startswith("optuna") else [])
        for n in SETTINGS
    ],
)
# an example takes 150 steps, with interruptions at any of them
@hypothesis.settings(deadline=None, max_examples=20)
@given(st.integers(1, 6), st.booleans(), st.randoms(use_true_random=False))
def test_interrupted_competition_ends_as_an_uninterrupted_one(
    name: str, parallel: int, saves: bool, rng: random.Random
) -> None:
    if name == "optuna_tuner":
        package("optuna")
    fresh = SETTINGS[name](rng)
    interrupted, straight = Play(fresh), Play(fresh)
    for _ in range(150):
        step = rng.random()
        if step < 0.1:
            interrupted.interrupt()
            # as at the start of any run
            straight.competition.watch.clear()
            straight.competition.apply_edits([])
        elif step < 0.2:
            interrupted.save()
        elif step < 0.6 and len(interrupted.issued) < parallel:
            assert interrupted.issue() == straight.issue()
        elif interrupted.issued:
            job = interrupted.issued[rng.choice(sorted(interrupted.issued))]
            result = random_result(rng, job)
            reactions = [play.finish(job.id, result) for play in (interrupted, straight)]
            assert reactions[0].line == reactions[1].line
            assert reactions[0].notes == reactions[1].notes
            if reactions[0].save and saves:
                interrupted.save()
        if straight.competition.finished():
            break
    one, other = interrupted.competition, straight.competition
    assert one.state() == other.state()
    assert one.summary().progress == other.summary().progress
    assert one.summary().data() == other.summary().data()
    assert one.finished() == other.finished()
    assert one.next_job() == other.next_job()
