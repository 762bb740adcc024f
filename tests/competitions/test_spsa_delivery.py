"""Delivery of parameter values to engines."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from ringmaster.errors import SettingError
from ringmaster.model.players import Player
from ringmaster.play.engine_pool import launch_key
from tests.competitions.settings_of import Refused, call, uci
from tests.competitions.test_spsa import parameter, spsa

GO: dict[str, Any] = {
    "game": "go",
    "board_size": 9,
    "komi": 7.5,
    "players": {"e": call("Player", "x --seed 1", startup_gtp_commands=["hello"])},
}


def players(tune: Any) -> list[tuple[Player, dict[str, Any]]]:
    job = tune.next_job()
    return list(zip(job.players, job.parameters, strict=True))


def tuned(*parameters: Any, **settings: Any) -> Any:
    return spsa(parameters=list(parameters), **settings)


def test_gtp_commands_follow_the_players_own() -> None:
    tune = tuned(parameter("mob", gtp="set mob %s now"), parameter("sp", gtp="set_space"), **GO)
    for player, values in players(tune):
        assert player.startup_gtp_commands == (
            ("hello",),
            ("set", "mob", str(values["mob"]), "now"),
            ("set_space", str(values["sp"])),
        )


def test_words_are_added_to_the_command_line() -> None:
    parameters = parameter("mob", argument="--mob=%s"), parameter("sp", argument="--space %d 100%%")
    for player, values in players(tuned(*parameters, **GO)):
        assert player.command == (
            *("x", "--seed", "1", f"--mob={values['mob']}"),
            *("--space", str(values["sp"]), "100%"),
        )


def test_environment_variable_is_set() -> None:
    parameters = parameter("x", environ="ENGINE_X", integer=False, format="%.1f")
    own = {"e": uci(environ={"A": "b"})}
    for player, values in players(tuned(parameters, players=own)):
        assert player.environ == {"A": "b", "ENGINE_X": f"{values['x']:.1f}"}


def test_frozen_parameter_is_sent_at_its_start() -> None:
    parameters = parameter("mob", start=30, frozen=True), parameter("sp")
    for player, values in players(tuned(*parameters)):
        assert player.options["mob"] == values["mob"] == 30
        assert player.options["sp"] == values["sp"] != 50


def test_unused_parameter_is_neither_sent_nor_recorded() -> None:
    tune = tuned(parameter("gone", not_used=True), parameter("mob"))
    for player, values in players(tune):
        assert player.options["mob"] == values["mob"]
        assert "gone" not in player.options
        assert list(values) == ["mob"]
    assert [row["code"] for row in tune.summary().data()["parameters"]] == ["mob"]
    tune = tuned(
        parameter("gone", not_used=True),
        parameter("mob"),
        make_candidate=lambda mob: uci(options={"Mobility": mob}),
    )
    assert [set(player.options) for player, _ in players(tune)] == [{"Mobility"}] * 2


def test_error_after_an_unused_parameter_names_its_own_place() -> None:
    with pytest.raises(Refused, match=r"parameters\.1\.gtp: there are no GTP commands"):
        tuned(parameter("gone", not_used=True), parameter("mob", gtp="mob %s"))


def test_transform_changes_the_sent_value_and_not_the_recorded_one() -> None:
    parameters = parameter("mob", transform=lambda v: 2**v, max=20, min=0, start=10)
    for player, values in players(tuned(parameters)):
        assert player.options["mob"] == 2 ** values["mob"]


def test_format_applies_after_the_transform() -> None:
    parameters = parameter("mob", integer=False, transform=lambda v: v / 100, format="%.2f cp")
    for player, values in players(tuned(parameters)):
        assert player.options["mob"] == f"{values['mob'] / 100:.2f} cp"


def test_numpy_result_of_a_transform_becomes_a_plain_number() -> None:
    for player, _ in players(tuned(parameter("mob", transform=np.sqrt))):
        assert type(player.options["mob"]) is float


def test_make_candidate_receives_transformed_values() -> None:
    def make_candidate(mob: int, sp: int) -> Any:
        return call("Player", "engine", nodes=1, options={"mob": mob, "half": sp, "other": 2 * sp})

    tune = tuned(
        parameter("mob", transform=lambda v: -v), parameter("sp"), make_candidate=make_candidate
    )
    for player, values in players(tune):
        assert player.options == {
            "mob": -values["mob"],
            "half": values["sp"],
            "other": 2 * values["sp"],
        }


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            [parameter("a", gtp="set a")],
            "parameters.0.gtp: there are no GTP commands over UCI",
        ),
        (
            [parameter("a", option="X"), parameter("b", option="x")],
            "parameters.1.option: parameters 'a' and 'b' are the same option 'x'",
        ),
        ([parameter("a", environ="X=")], "parameters.0.environ: 'X=' is not the name of a"),
        ([parameter("a", option="b\nquit")], "parameters.0.option: 'b\\nquit' cannot be sent"),
        ([parameter("a", argument="%s %s")], "parameters.0.argument: '%s %s' cannot take 50"),
        ([parameter("a", format="cp")], "parameters.0.format: 'cp' cannot show 50"),
        (
            [parameter("a", format="%d", integer=False)],
            "parameters.0.format: %d in '%d' cuts fractions off",
        ),
        (
            [parameter("a", format="%s cp", argument="--a=%d")],
            "parameters.0.argument: '--a=%d' cannot take '50 cp'",
        ),
        (
            [parameter("a", transform=lambda v: [v])],
            "parameters.0.transform: parameter 'a': called with (50), it returned a wrong value: "
            "[50] cannot",
        ),
        ([parameter("")], "parameters.0.code: a parameter must have a name"),
    ],
)
def test_impossible_delivery_is_refused_at_its_place(parameters: list[Any], message: str) -> None:
    with pytest.raises(Refused) as refused:
        tuned(*parameters)
    assert message in str(refused.value)


def test_function_that_fails_at_a_bound_is_found_before_the_first_game() -> None:
    (failure,) = tuned(parameter("a", transform=lambda v: 1 / v)).prepare()
    assert failure.path == ("parameters", 0, "transform")
    assert str(failure).startswith("parameter 'a': called with (0), it raised ZeroDivisionError")


def test_option_over_gtp_is_refused_with_alternatives() -> None:
    with pytest.raises(Refused, match="GTP has no options that parameters could be") as refused:
        tuned(parameter("a"), parameter("b", gtp="b"), **GO)
    assert "gtp, argument or environ" in str(refused.value)
    assert str(refused.value).startswith("parameters.0:")


def test_delivery_is_refused_together_with_make_candidate() -> None:
    with pytest.raises(Refused, match="option: option has no meaning beside"):
        tuned(parameter("a", option="A"), make_candidate=lambda a: uci())


def test_transform_that_fails_during_the_tune_issues_no_game() -> None:
    def transform(value: int) -> int:
        assert value in (0, 50, 100)
        return value

    tune = tuned(parameter("a", c_end=10, transform=transform))
    before = tune.state()
    with pytest.raises(SettingError, match="it raised AssertionError") as raised:
        tune.next_job()
    assert raised.value.path == ("parameters", 0, "transform")
    assert tune.state() == before


@pytest.mark.parametrize(
    ("parameters", "settings", "message"),
    [
        (parameter("a", transform=lambda v: 1 / (v - 30)), {}, r"'a': called with \(30\)"),
        (parameter("a", transform=lambda v: "-" if v == 30 else v, format="%d"), {}, "'%d' cannot"),
        (parameter("a"), {"make_candidate": lambda a: uci() if a > 3 else 1 / 0}, "make_candidate"),
        (
            parameter("a", integer=False, transform=lambda v: v if v < 70 or v > 72 else 1 / 0),
            {},
            r"'a': called with \(7[01]\.",
        ),
    ],
)
def test_function_failing_between_start_and_bounds_is_reported_before_the_first_game(
    parameters: Any, settings: dict[str, Any], message: str
) -> None:
    (failure,) = tuned(parameters, **settings).prepare()
    assert re.search(message, ".".join(map(str, failure.path)) + f": {failure}")


def test_functions_without_failure_within_the_bounds_are_accepted() -> None:
    frozen = parameter("b", frozen=True, transform=lambda v: 1 / (v - 30))
    parameters = parameter("a", min=-5, transform=lambda v: 1 / (v + 6)), frozen
    assert tuned(*parameters).prepare() == []
    assert tuned(parameter("a"), make_candidate=lambda a: uci()).prepare() == []


def test_options_keep_the_engine_process_and_arguments_do_not() -> None:
    """The engine pool keeps an engine process while its launch key is the same."""
    for parameters, same in (
        (parameter("a"), True),
        (parameter("a", argument="--a"), False),
        (parameter("a", environ="A"), False),
    ):
        (first, _), (second, _) = players(tuned(parameters))
        assert (launch_key(first) == launch_key(second)) is same
