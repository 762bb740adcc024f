"""The options of the command line: values, help, and the actions of each option."""

from __future__ import annotations

import pytest

from ringmaster.cli import USAGE, run
from ringmaster.commands.options import ACTIONS, OPTIONS, Option

ALL = [option for options in OPTIONS.values() for option in options]
#: Values of options that do not accept 2.
VALUES = {
    "draw_ratio": "0.5",
    "correlation": "0.5",
    "optimum": "start,a=0.3",
    "elo": "2,a=3",
    "cluster": "local",
}


def words(option: Option) -> list[str]:
    """Return a correct use of an option."""
    name = option.names[-1]
    if option.settings.get("action") == "store_true":
        return [name]
    return [name, VALUES.get(option.key, "2")]


def test_option_is_refused_for_other_actions(capsys: pytest.CaptureFixture[str]) -> None:
    wrong = []
    for option in ALL:
        action = next(name for name in ACTIONS if name not in option.actions)
        status = run(["event.ctl", action, *words(option)])
        message = f"ringmaster: {option.names[-1]} goes with {option.actions[0]}"
        if status != USAGE or not capsys.readouterr().err.startswith(message):
            wrong.append((action, option.names))
    assert wrong == []


def test_every_option_belongs_to_known_actions_and_has_help() -> None:
    for option in ALL:
        assert set(option.actions) <= set(ACTIONS)
        assert all(option.help(action) for action in (*option.actions, None))


def test_help_of_an_action_lists_its_options_only(capsys: pytest.CaptureFixture[str]) -> None:
    for action, description in ACTIONS.items():
        assert run(["event.ctl", action, "--help"]) == 0
        text = capsys.readouterr().out
        assert description[1:] in " ".join(text.split())
        for option in ALL:
            listed = f"  {option.names[0]}" in text
            assert listed == (action in option.actions), (action, option.names)


def test_help_of_the_program_lists_all_actions_and_options(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["--help"]) == 0
    text = capsys.readouterr().out
    assert [name for name in (*ACTIONS, "new", "import", "choose") if name not in text] == []
    assert [name for option in ALL for name in option.names if name not in text] == []


@pytest.mark.parametrize(
    "value",
    [
        ["--elo", "-1"],
        ["--elo", "1,2"],
        ["--optimum", "left"],
        ["--draw-ratio", "1"],
        ["--concurrency", "0"],
        ["--correlation", "2"],
        ["--seed", "x"],
        ["-j", "many"],
        ["-g", "-1"],
    ],
)
def test_wrong_value_is_refused(value: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["event.ctl", "simulate", *value]) == USAGE
    message = capsys.readouterr().err
    assert message.startswith(f"ringmaster: argument {value[0]}")
