"""Reports, live displays, verdicts and warnings of every type, compared with golden files."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ringmaster.competitions import type_names
from ringmaster.model.jobs import GameJob
from ringmaster.model.report import Report
from ringmaster.model.results import EngineUsage, GameResult
from ringmaster.reporting.tables import render_report
from tests.competitions.golden import check_golden
from tests.competitions.settings_of import (
    AGAINST_OPPONENT,
    again,
    call,
    drawn,
    make,
    uci,
    void,
    won,
)
from tests.competitions.texel.simulated import TRUE, Runs, folder_fixture, texel
from tests.requirements import package

assert folder_fixture  # a fixture

CHESS = {"game": "chess", "players": {code: uci() for code in "abcd"}}
GO = {"players": {code: call("Player", code) for code in "abc"}, "board_size": 9, "komi": 6.5}
#: Games with stones to each player in turn.
STONES = {**GO, "handicap": 2, "komi": 7}
#: A result by its letter: a win of the first or last player by code, or of a colour, or
#: something rarer.
RESULTS: dict[str, Callable[[GameJob], GameResult]] = {
    "w": lambda job: won(job, min(p.code for p in job.players)),
    "l": lambda job: won(job, max(p.code for p in job.players)),
    "d": drawn,
    "u": lambda job: GameResult(job.id, 0, "unknown", reason="move limit"),
    "n": lambda job: GameResult(job.id, 0, "unknown", reason="score", detail="no score"),
    "v": void,
    "p": lambda job: GameResult(job.id, 0, "void", reason="standstill"),
    "c": lambda job: void(job, job.players[0].code),
    "f": lambda job: changed(won(job, job.players[0].code), reason="time", forfeit=True),
    "s": lambda job: changed(won(job, job.players[1].code), reason="stall", forfeit=True),
    "r": lambda job: changed(won(job, job.players[0].code), repeats=True),
    "B": lambda job: won(job, job.players[0].code),
    "W": lambda job: won(job, job.players[1].code),
    "t": lambda job: changed(
        drawn(job), usage=(EngineUsage(cpu_time=1.5), EngineUsage(name="Other 2", cpu_time=3.0))
    ),
}


def changed(result: GameResult, **fields: Any) -> GameResult:
    return msgspec.structs.replace(result, **fields)


def play(competition: Any, letters: Iterable[str]) -> Any:
    """Play games with results by letter, one at a time; void games are not played again."""
    for letter in letters:
        job = competition.next_job()
        if job is None:
            break
        competition.record_result(job.ticket, RESULTS[letter](job))
    return competition


def by_chance(competition: Any, games: int, letters: str = "wwld") -> Any:
    rng = random.Random(1)
    return play(competition, (rng.choice(letters) for _ in range(games)))


def shown(title: str, competition: Any) -> str:
    """Return everything that a user reads about a competition."""
    parts = [
        ("warnings", "\n".join(competition.summary().warnings)),
        ("notices", "\n".join(competition.setup().notices)),
        ("verdict", competition.summary().verdict),
        ("blocked", "\n".join(competition.summary().waiting)),
        ("report", render_report(Report(competition.summary().blocks))),
        ("display", render_report(Report(competition.summary(live=True).blocks))),
    ]
    sections = [f"--- {name} ---\n{text.strip()}\n" for name, text in parts if text.strip()]
    return f"===== {title} =====\n" + "\n".join(sections)


def playoff(*matchups: Any, **settings: Any) -> Any:
    return make("playoff", matchups=list(matchups), **{**CHESS, **settings})


def sprt(elo0: float, elo1: float, games: int | None = None, **settings: Any) -> Any:
    matchup = call("Matchup", "a", "b", number_of_games=games)
    return playoff(matchup, sprt=call("SPRT", elo0, elo1), **settings)


def playoffs() -> dict[str, Any]:
    pairs = [("a", "b"), ("b", "c"), ("a", "c")]
    even = [call("Matchup", *pair, number_of_games=4) for pair in pairs]
    edited = by_chance(
        playoff(*(call("Matchup", *pair, number_of_games=3, id="".join(pair)) for pair in pairs)), 8
    )
    left = [
        call("Matchup", "c", "b", number_of_games=2, id="bc"),
        call("Matchup", "a", "c", number_of_games=0, id="ac"),
        call("Matchup", "a", "a", number_of_games=2, name="itself"),
    ]
    stones = {"handicap": 2, "handicap_style": "free"}
    three = [call("Matchup", "a", "b", id=code) for code in ("x", "y")]
    three.append(call("Matchup", "a", "b", name="two stones"))
    return {
        "one matchup, with rare results": play(playoff(even[0]), "wtfsc"),
        "decided": play(playoff(call("Matchup", "a", "b", number_of_games=30)), "wwwd" * 8),
        "the same terms for all": by_chance(playoff(*even), 12),
        "faults of several players": play(playoff(*even), "fsfvpcrrd"),
        "a player that cannot play": play(playoff(*even[:2]), "c" * 12),
        "after an edit": again(edited, playoff(*left)),
        "go, with fixed colours": play(make("playoff", matchups=three, **GO), "wdunnu"),
        "handicap": play(
            make("playoff", matchups=[call("Matchup", "a", "b", **stones)], **GO), "wwld"
        ),
        "handicap to each in turn": play(
            make(
                "playoff",
                matchups=[call("Matchup", "a", "b", number_of_games=30, alternating=True)],
                **STONES,
            ),
            "BBBBBWBBdB" * 3,
        ),
    }


def sprts() -> dict[str, Any]:
    return {
        "H1": play(sprt(0, 100), "w" * 99),
        "H0": play(sprt(0, 100), "l" * 99),
        "H1 of no loss": play(sprt(-100, 0), "w" * 99),
        "H0 of a loss": play(sprt(-100, 0), "l" * 99),
        "H1 of a margin": play(sprt(10, 100), "w" * 99),
        "H0 of a margin": play(sprt(-100, -10), "l" * 99),
        "undecided at its limit": play(sprt(0, 5, 21), "wdl" * 7),
        "without a limit": play(sprt(-3, 3), "wd"),
        "by forfeits": play(sprt(0, 100), "fwlw" * 50),
        "with many void games": play(sprt(0, 5, 20), "wvlv" * 5),
        "with many repeats": play(sprt(0, 200), "wl" + "r" * 99),
        "after another bound": again(play(sprt(0, 100), "wdwl" * 40), sprt(0, 300)),
    }


def allplayalls() -> dict[str, Any]:
    def tournament(**settings: Any) -> Any:
        usual = {**CHESS, "competitors": list("abc"), "rounds": 8, **settings}
        return make("allplayall", **usual)

    anchored = tournament(anchor=call("Anchor", "b", 2800))
    return {
        "before the first game": tournament(),
        "ratings": by_chance(anchored, 24),
        "a weak prior": play(tournament(), "wwwwww"),
        "tested": by_chance(tournament(sprt=call("SPRT", 0, 5)), 18),
        "after an edit": again(by_chance(tournament(), 7), tournament(competitors=["a", "c", "d"])),
        "handicap": play(tournament(**{"game": "go", **STONES}), "BBBBBBWBdB" * 3),
    }


def gauntlets() -> dict[str, Any]:
    def tournament(**settings: Any) -> Any:
        usual = {"challengers": ["a", "b"], "opponents": ["c", "d"], "rounds": 6}
        return make("gauntlet", **{**CHESS, **usual, **settings})

    return {
        "two challengers": by_chance(tournament(), 24),
        "one challenger": by_chance(tournament(challengers=["a"]), 12, "wwd"),
        "a withdrawn opponent": by_chance(tournament(withdrawn=["c"]), 7),
        "a broken player": play(tournament(), "ccccc"),
        "handicap": play(
            tournament(game="go", challengers=["a"], opponents=["b", "c"], **STONES), "BBBBWdBBBBBB"
        ),
    }


def swisses() -> dict[str, Any]:
    def tournament(count: int, **settings: Any) -> Any:
        return make("swiss", competitors=list("abcd")[:count], rounds=3, **{**CHESS, **settings})

    return {
        "before the first game": tournament(4),
        "at its end": play(tournament(4), "wdlw" * 9),
        "with a bye": play(tournament(3), "wfdwl"),
        "with a withdrawn player": again(play(tournament(4), "wd"), tournament(4, withdrawn=["b"])),
        "rematches": tournament(2),
        "handicap": play(tournament(3, **{"game": "go", **STONES}), "BBBBBW"),
    }


MC = {
    "parameters": [call("Parameter", "x", scale=call("LINEAR", 0, 8), split=2, format="X %.1f")],
    "exploration_coefficient": 0.4,
    "initial_visits": 2,
    "initial_wins": 1,
    "max_depth": 2,
}


def mc_tuners() -> dict[str, Any]:
    def tune(**settings: Any) -> Any:
        return make("mc_tuner", **{**AGAINST_OPPONENT, **MC, "number_of_games": 40, **settings})

    unfinished = by_chance(tune(number_of_running_simulations_to_show=1), 20, "wwldurt")
    unfinished.next_job()
    return {
        "before the first game": tune(),
        "games in progress": unfinished,
        "at its end": by_chance(tune(), 40),
        "without a win": play(tune(), "w" * 40),
    }


def ce_tuners() -> dict[str, Any]:
    parameter = call("Parameter", "x", initial_mean=0.5, initial_variance=1, format="X %.2f")
    settings = {
        "parameters": [parameter],
        "number_of_generations": 2,
        "samples_per_generation": 12,
        "batch_size": 2,
        "elite_proportion": 0.3,
        "step_size": 0.8,
    }
    tune = lambda: make("ce_tuner", **{**AGAINST_OPPONENT, **settings})  # noqa: E731
    return {
        "before the first game": tune(),
        "first generation": by_chance(tune(), 20, "wldur"),
        "at its end": by_chance(tune(), 48),
    }


def tune_of(type_name: str, parameters: list[Any], **settings: Any) -> Any:
    usual = {**CHESS, "player": "a", "parameters": parameters, "verify": call("Verify", 4)}
    return make(type_name, **{**usual, **settings})


def clop_tuners() -> dict[str, Any]:
    x = call("Parameter", "x", min=0, max=100, start=20)
    y = call("Parameter", "y", integer=True, min=1, max=9, start=7, frozen=True)

    def tune(**settings: Any) -> Any:
        return tune_of("clop_tuner", [x, y], opponent={"b": 1, "c": 2}, **settings)

    return {
        "before the first game": tune(),
        "tuning": by_chance(tune(number_of_games=60), 40, "wwldur"),
        "at its end": by_chance(tune(number_of_games=40), 44),
        "without information": play(tune(), "w" * 40),
    }


def spsas() -> dict[str, Any]:
    def parameter(code: str, **settings: Any) -> Any:
        usual = {"start": 50, "min": 0, "max": 100, "c_end": 10, "r_end": 0.02}
        return call("Parameter", code, **{**usual, **settings})

    tuned = [parameter("Mobility", integer=True), parameter("Space", transform=lambda x: x / 10)]
    parameters = [*tuned, parameter("Contempt", start=7, frozen=True)]

    def tune(**settings: Any) -> Any:
        return tune_of("spsa", parameters, **{"number_of_games": 40, **settings})

    reference = {"pairing": "reference", "opponent": ["b", "c"]}
    derived = {"method": "constant", "number_of_games": None, "elo_per_parameter": 90}
    drifting = tune(number_of_games=600, method="classic")
    while (job := drifting.next_job()) is not None and job.ticket.get("k", 601) < 300:
        side = max((0, 1), key=lambda seat: job.parameters[seat]["Mobility"])
        drifting.record_result(job.ticket, won(job, job.players[side].code))
    return {
        "before the first game": tune(),
        "adaptive": by_chance(tune(), 30, "wwldur"),
        "adaptive, at its end": by_chance(tune(), 44),
        "drifting": drifting,
        "reference": by_chance(tune(method="classic", estimate="mean", **reference), 31),
        "derived": by_chance(tune(**derived), 20),
        "without one parameter": again(
            by_chance(tune(), 20), tune_of("spsa", parameters[1:], number_of_games=40)
        ),
    }


def optuna_tuners() -> dict[str, Any]:
    package("optuna")
    parameters = [
        call("Parameter", "x", start=50, min=0, max=100, integer=True),
        call("Parameter", "style", start="solid", choices=["solid", "wild"]),
        call("Parameter", "risk", start=3, min=1, max=9, only_if={"style": "wild"}),
    ]

    def tune(**settings: Any) -> Any:
        usual = {"sampler": "random", "number_of_trials": 12, "games_per_trial": 4}
        return tune_of("optuna_tuner", parameters, **{**usual, **settings})

    return {
        "before the first game": tune(),
        "tuning": by_chance(tune(), 30, "wwldur"),
        "at its end": by_chance(tune(), 99),
        "against two opponents": by_chance(tune(opponent={"b": 2, "c": 1}), 30),
        "hopeless": play(tune(opponent="b", games_per_trial=40), "l" * 99),
        "draws alone": play(tune(), "d" * 99),
    }


REPORTS: dict[str, Callable[[], dict[str, Any]]] = {
    "playoff": playoffs,
    "sprt": sprts,
    "allplayall": allplayalls,
    "gauntlet": gauntlets,
    "swiss": swisses,
    "mc_tuner": mc_tuners,
    "ce_tuner": ce_tuners,
    "clop_tuner": clop_tuners,
    "spsa": spsas,
    "optuna_tuner": optuna_tuners,
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[pytest.mark.optional] if "optuna" in n else []) for n in REPORTS],
)
def test_report_of_a_type(name: str) -> None:
    stages = REPORTS[name]()
    check_golden(name, "\n".join(shown(title, stage) for title, stage in stages.items()))


def test_report_of_a_texel_tune(folder: Path) -> None:
    def event() -> Any:
        settings = {"regularisation": call("Ridge"), "verify": call("Verify", games=2)}
        return texel(
            folder, players={"e": uci(), "ref": uci(options=TRUE)}, reference="ref", **settings
        )

    runs = Runs(event)
    texts = [shown("before the first pass", runs.event)]
    for _ in range(9):
        runs.step()
    texts.append(shown("tuning", runs.event))
    runs.run()
    texts += [shown("at its end", runs.event), "===== history =====", *runs.history]
    check_golden("texel", "\n".join(texts))


def test_every_type_has_a_golden_file() -> None:
    assert set(type_names()) <= {*REPORTS, "texel"}
