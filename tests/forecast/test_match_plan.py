"""`plan` of matches: lengths of tests, precision of games, their assumptions and durations."""

from __future__ import annotations

import json
import math
import shutil
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import sprt_error_rates
from ringmaster.cli import run
from ringmaster.stats.sprt import Sprt, forecast
from tests.competitions.golden import check_golden
from tests.program import REPOSITORY
from tests.recorded import recorded, ticket, won

MATCH = """
competition_type = "{type}"
game = "{game}"
players = {{code: Player(["engine"]) for code in "abcd"}}
{settings}
"""
PAIR = 'matchups = [Matchup("a", "b")]\n'
Plan = Callable[..., dict[str, Any]]


@pytest.fixture
def plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Plan:
    """Return a function that plans a tournament and returns the data."""

    def make_plan(
        settings: str, *options: str, type: str = "playoff", game: str = "chess", status: int = 0
    ) -> dict[str, Any]:
        path = tmp_path / "event.ctl"
        if game == "chess" and "time" not in settings:
            settings += "nodes = 1000\n"
        path.write_text(MATCH.format(type=type, game=game, settings=settings))
        assert run([str(path), "plan", "--json", *options]) == status
        out, err = capsys.readouterr()
        return {"error": err} if status else json.loads(out)

    return make_plan


def only(data: dict[str, Any]) -> dict[str, Any]:
    (only,) = data["plans"]
    return dict(only)


@pytest.mark.slow
@pytest.mark.parametrize("true", [0, 0.5, 1])
@pytest.mark.parametrize("results", [3, 5])
@pytest.mark.parametrize("name", ["normalized 0 to 50", "logistic 0 to 50"])
def test_expected_games_and_odds_are_those_of_simulated_tests(
    name: str, results: int, true: float
) -> None:
    simulated = sprt_error_rates.simulate(1000, 3, name, results, true)
    wrong, games = simulated[3], simulated[4]
    model, elo0, elo1 = sprt_error_rates.TESTS[name]
    shares = sprt_error_rates.truth(results, model, elo0 + true * (elo1 - elo0)).tolist()
    expected = forecast(Sprt(elo0, elo1, model=model), shares)  # type: ignore[arg-type]
    assert expected["games"] == pytest.approx(games, rel=0.1)
    assert expected["h0" if true else "h1"] == pytest.approx(
        wrong, abs=0.05 if true == 0.5 else 0.02
    )


@pytest.mark.parametrize("gap", [-1.5, -0.5, 0.0, 0.4])
def test_forecast_is_that_of_a_random_walk_with_a_limit(gap: float) -> None:
    """gap: true strength from the middle of the hypotheses, in their distance."""
    test, step, limit, walks = Sprt(0, 40), 40 * math.log(10) / 800, 600, 4000
    nelo = (0.5 + gap) * 40
    expected = forecast(test, test.fit([0.3, 0.4, 0.3], nelo), limit)
    steps = np.random.default_rng(1).normal(step * step * gap, step, (walks, limit))
    ratios = steps.cumsum(axis=1)
    low, high = test.bounds
    out = (ratios <= low) | (ratios >= high)
    ended = np.where(out.any(axis=1), out.argmax(axis=1), limit - 1)
    last = ratios[np.arange(walks), ended]
    games = ended + 1
    assert expected["games"] == pytest.approx(games.mean(), rel=0.05)
    assert expected["low"] == pytest.approx(np.quantile(games, 0.05), rel=0.05)
    assert expected["high"] == pytest.approx(np.quantile(games, 0.95), rel=0.05)
    assert expected["h0"] == pytest.approx((last <= low).mean(), abs=0.03)
    assert expected["h1"] == pytest.approx((last >= high).mean(), abs=0.03)
    assert expected["undecided"] == pytest.approx((~out.any(axis=1)).mean(), abs=0.03)


def test_test_in_normalised_elo_has_one_length_whatever_the_draws_and_the_book(plan: Plan) -> None:
    match = PAIR + "sprt = SPRT(0, 5)\n"
    lengths = [
        [row["games"] for row in only(plan(match, *options))["tests"]]
        for options in ([], ["--draw-ratio", "0.2"], ["--penta", "200,4860,10023,4742,175"])
    ]
    assert lengths[0] == pytest.approx(lengths[1], rel=1e-3)
    assert lengths[0] == pytest.approx(lengths[2], rel=1e-3)
    # 25,203 games of 1,000 simulated tests: reports/sprt_error_rates.rst
    assert lengths[0][0] == pytest.approx(25_203, rel=0.05)


def test_unbalanced_book_shortens_a_test_in_logistic_elo(plan: Plan) -> None:
    match = PAIR + 'sprt = SPRT(0, 5, model="logistic")\n'
    balanced, unbalanced = (
        only(plan(match, *options))
        for options in ([], ["--penta", "[200, 4860, 10023, 4742, 175]"])
    )
    assert unbalanced["tests"][0]["games"] < 0.75 * balanced["tests"][0]["games"]
    # the deviation of a game of these pairs is 0.263, ½ over it 1.90
    assert "pairs as in --penta; 1 Elo is 1.90 nElo" in unbalanced["assumed"][0]
    assert "61 % draws (--draw-ratio), in independent pairs" in balanced["assumed"][0]


def test_true_difference_is_one_more_row(plan: Plan) -> None:
    match = "number_of_games = None\nsprt = SPRT(-5, 0)\n" + (
        'matchups = [Matchup("a", "b"), Matchup("c", "d", id="other")]\n'
    )
    data = plan(match, "--elo=-1,other=3", "--draw-ratio", "0")
    first, other = (p["tests"] for p in data["plans"])
    assert [round(row["nelo"], 3) for row in first[:3]] == [-5, -2.5, 0]
    assert [first[3]["elo"], other[3]["elo"]] == pytest.approx([-1, 3])
    # without draws, Elo and nElo of nearly equal players agree
    assert first[3]["nelo"] == pytest.approx(-1, rel=0.01)
    assert first[3]["h1"] > 0.5 > first[1]["h0"] - 0.01
    assert plan(match, "--elo", "none=3", status=2)["error"].endswith(
        "--elo: there is no matchup 'none'; there are 0, other\n"
    )


def test_limit_too_low_for_a_decision_is_told(plan: Plan) -> None:
    match = PAIR + "sprt = SPRT(0, 5)\nnumber_of_games = {}\n"
    few = only(plan(match.format(1000)))
    assert few["tests"][1]["undecided"] > 0.99
    (warning,) = few["warnings"]
    assert "1,000 games leave 100% of the tests undecided" in warning
    assert "62,387 decide 19 of 20" in warning
    assert only(plan(match.format(63_000)))["warnings"] == []


def test_fixed_number_of_games_shows_differences_of_some_size(plan: Plan) -> None:
    match = PAIR + "number_of_games = 10000\n"
    data = only(plan(match, "--draw-ratio", "0.5", "--elo", "6.9"))
    # √(½/4)/√10,000 of a point, 1 Elo is ln 10/1600 of a point
    error = math.sqrt(0.5 / 4) / 100 / (math.log(10) / 1600)
    assert data["error"] == pytest.approx(1.96 * error, rel=1e-3)
    assert data["shown_80"] == pytest.approx((1.96 + 0.8416) * error, rel=1e-3)
    assert data["shown_95"] == pytest.approx((1.96 + 1.645) * error, rel=1e-3)
    assert data["shown_elo"] == pytest.approx(0.8, abs=0.01)


def test_match_until_a_precision_is_planned_with_the_games_that_it_takes(plan: Plan) -> None:
    match = only(plan(f"{PAIR}stop_at = Precision(10)\n"))
    assert match["error"] == pytest.approx(10, abs=0.01)
    assert match["number_of_games"] == pytest.approx(1812, rel=0.01)
    capped = only(plan(f"{PAIR}stop_at = Precision(10)\nnumber_of_games = 500\n"))
    assert capped["number_of_games"] == 500
    assert only(plan(f"{PAIR}stop_at = Precision(90)\n"))["number_of_games"] == 100


def test_stages_are_planned_one_by_one(plan: Plan) -> None:
    stages = "stages = [Stage('short', sprt=SPRT(0, 10)), Stage('long', number_of_games=100)]\n"
    short, long = plan(PAIR + stages)["plans"]
    assert (short["matchups"], short["sprt"]["elo1"]) == (["a v b, short"], 10)
    assert (long["matchups"], long["number_of_games"]) == (["a v b, long"], 100)


def test_hours_come_from_the_games_at_a_time_and_the_clock(plan: Plan) -> None:
    match = PAIR + "number_of_games = 1200\n"
    seconds = {
        # fishtest's FAQ: four games in 2 minutes, and in 12 minutes
        'time_control = "10+0.1"': 30,
        'time_control = "60+0.6"': 180,
        'time_control = "40/60"': 2 * 0.9 * 60 * 1.5,
        "move_time = 0.1": 12,
    }
    for clock, expected in seconds.items():
        data = only(plan(match + clock + "\n", "-j", "3"))
        assert data["seconds_per_game"] == pytest.approx(expected), clock
        assert data["hours"] == pytest.approx(1200 * expected / 3 / 3600)
        assert "estimated from the time control" in data["duration"]
    given = only(plan(match + 'time_control = "10+0.1"\n', "--seconds-per-game", "7"))
    assert given["seconds_per_game"] == 7
    unknown = only(plan(match + "nodes = 1000\n"))
    assert unknown["hours"] is None
    assert "no game has been timed yet" in unknown["duration"]


def test_results_and_seconds_are_measured_from_200_games_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    control = tmp_path / "event.ctl"
    control.write_text(
        MATCH.format(type="playoff", game="chess", settings=PAIR + "nodes = 1\nsprt = SPRT(0, 5)")
    )
    # a draw and a win of the first player, then a draw and a win of the second
    winners = (None, 1, None, 0)
    kinds = [{} if w is not None else {"outcome": "draw", "score": "1/2-1/2"} for w in winners]
    games = [
        (
            ticket(number=n, pair=n // 2),
            won(f"0_{n}", winners[n % 4], seconds=3.0 + n % 2, **kinds[n % 4]),
        )
        for n in range(200)
    ]
    texts = []
    for count in (198, 200):
        control.with_suffix(".status").unlink(missing_ok=True)
        recorded(control, games[:count])
        assert run([str(control), "plan", "--json"]) == 0
        data = only(json.loads(capsys.readouterr().out))
        texts.append(f"{data['assumed'][0]}, {data['duration']}")
    assert "61 % draws" in texts[0]
    # half of the pairs have ¾, half ¼: a deviation of ¼, √2/4 of a game
    assert "results as in its 200 games; 1 Elo is 1.41 nElo" in texts[1]
    assert "games of 3.5 s (last 200 games), 1 at a time" in texts[1]


def test_games_in_progress_at_the_decision_count(plan: Plan) -> None:
    match = PAIR + "sprt = SPRT(0, 50)\nnumber_of_games = 5000\n"
    one, many = (only(plan(match, "-j", j))["tests"][0]["games"] for j in ("1", "33"))
    assert many - one == pytest.approx(32)


def test_matchups_on_the_same_terms_have_one_plan(plan: Plan) -> None:
    data = plan('competitors = list("abcd")\nrounds = 100\n', type="allplayall")
    assert len(only(data)["matchups"]) == 6
    assert data["games"] == 600
    assert "usual" not in data


def test_hours_of_all_games_are_those_of_each_clock(plan: Plan) -> None:
    quick = 'players["a"] = Player(["engine"], move_time=0.01)\n'
    data = plan(
        quick + 'move_time = 1\ncompetitors = list("abc")\nrounds = 10\n', type="allplayall"
    )
    each = [p["seconds_per_game"] for p in data["plans"]]
    assert each == pytest.approx([60.6, 120])
    assert data["hours"] == pytest.approx((60.6 + 60.6 + 120) * 10 / 3600)


def test_swiss_is_planned_before_its_first_round(plan: Plan) -> None:
    swiss = 'competitors = list("abcd")\nrounds = 3\ngames_per_pairing = 10\nmove_time = 1\n'
    data = plan(swiss, type="swiss")
    assert only(data)["number_of_games"] == 10
    assert data["games"] == 60
    assert data["hours"] == pytest.approx(60 * 120 / 3600)


def test_fixed_colours_are_told(plan: Plan) -> None:
    data = only(plan(PAIR + "number_of_games = 10\nboard_size, komi = 9, 7.5\n", game="go"))
    assert "fixed colours" in data["assumed"][-1]
    assert data["assumed"][0].startswith("0 % draws (--draw-ratio); 1 Elo is 1.00 nElo")


def test_handicap_ladder_is_refused(plan: Plan) -> None:
    settings = PAIR + "board_size, komi, handicap_ladder = 9, 7.5, True\n"
    error = plan(settings, game="go", status=2)["error"]
    assert "a handicap ladder has no plan; number_of_games = 0 leaves it out" in error


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--optimum", "0.3"], "--optimum is for tunes; --elo is the true difference of a match"),
        (["--penta", "1,2,3"], "'1,2,3' is not five numbers of pairs, not of one kind"),
        (["--penta", "0,0,7,0,0"], "such as 200,4860,10023,4742,175"),
        (["--elo", "1001"], "'1001' is not a number from -1000 to 1000"),
    ],
)
def test_bad_option_is_answered_by_what_would_be_right(
    plan: Plan, options: list[str], message: str
) -> None:
    assert message in plan(PAIR + "number_of_games = 10\n", *options, status=2)["error"]


def test_match_without_games_has_no_plan(plan: Plan) -> None:
    error = plan(PAIR + "number_of_games = 0\n", status=2)["error"]
    assert "no matchup of event has games to play" in error


def test_text_explains_its_columns(
    plan: Plan, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan(
        'time_control = "8+0.08"\nnumber_of_games = 20_000\n'
        'matchups = [Matchup("a", "b", name="short", sprt=SPRT(0, 5)), Matchup("a", "c"), '
        'Matchup("a", "d")]\n'
    )
    assert run([str(tmp_path / "event.ctl"), "plan", "-j", "4", "--elo", "3"]) == 0
    check_golden("match_plan", capsys.readouterr().out)


def test_figures_of_the_documentation_are_those_of_its_commands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (REPOSITORY / "docs" / "planning_a_match.rst").read_text()
    _, _, rest = page.partition(":caption: error.ctl\n")
    error = tmp_path / "error.ctl"
    error.write_text(textwrap.dedent(rest[: rest.index("::")]).replace("book.epd", "openings.epd"))
    shutil.copy(REPOSITORY / "controlfiles" / "openings.epd", tmp_path)
    example = str(REPOSITORY / "controlfiles" / "sprt_chess.ctl")
    assert run([example, "plan", "-j", "2", "--seconds-per-game", "3"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert run([str(error), "plan", "-j", "8"]) == 0
    shown += [line for line in capsys.readouterr().out.splitlines() if " games  " in line]
    assert len(shown) > 20
    told = {line.strip() for line in page.splitlines()}
    assert [line for line in shown if line.strip() not in told] == []
