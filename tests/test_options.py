"""The command line: verbs, options, their help and their errors."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.cli import USAGE, run
from ringmaster.commands.command_line import make_parser, read
from ringmaster.commands.options import OPTIONS, Option, Verb, verb_names, verbs
from ringmaster.errors import UsageError

#: Values of options that do not accept 2.
VALUES = {
    "draw_ratio": "0.5",
    "correlation": "0.5",
    "optimum": "start,a=0.3",
    "elo": "2,a=3",
    "penta": "1,2,3,2,1",
    "cluster": "local",
    "game": "chess",
    "score_pov": "white",
    "result_pov": "white",
    "option": "Hash=64",
}
PARSED = [verb for verb in verbs() if not verb.verbatim and verb.function]
OF_FILE = [verb for verb in verbs() if verb.has_control_file]


def words(option: Option) -> list[str]:
    """Return a correct use of an option."""
    name = option.names[-1]
    count = option.settings.get("nargs")
    values = [VALUES.get(option.key, "2")] * (count if isinstance(count, int) else 1)
    return [name, *values] if option.has_value else [name]


def first_words(verb: Verb) -> list[str]:
    """Return a verb with its arguments."""
    return [verb.name, *("x.ctl" if a.key == "control_file" else "x" for a in verb.arguments)]


def message(argv: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Return the message for a wrong command line."""
    assert run(argv) == USAGE
    text = capsys.readouterr().err
    assert text.startswith("ringmaster: ")
    return text.removeprefix("ringmaster: ").rstrip()


def test_verb_stands_before_or_after_the_control_file_and_options_anywhere() -> None:
    for verb in OF_FILE:
        for option in verb.options():
            given = words(option)
            forms = [
                [verb.name, "x.ctl", *given],
                [verb.name, *given, "x.ctl"],
                [*given, verb.name, "x.ctl"],
                ["x.ctl", verb.name, *given],
                ["x.ctl", *given, verb.name],
                [*given, "x.ctl", verb.name],
            ]
            parsed = [read(form) for form in forms]
            assert {chosen for chosen, _ in parsed} == {verb}
            assert all(arguments == parsed[0][1] for _, arguments in parsed)
            arguments = parsed[0][1]
            assert arguments.control_file == Path("x.ctl")
            assert getattr(arguments, option.key) not in (None, False), option.names


def test_control_file_alone_is_run() -> None:
    for argv in (["x.ctl"], ["x.ctl", "-j", "2"], ["-j2", "x.ctl"], ["-qj", "2", "x.ctl"]):
        assert read(argv)[0].name == "run"


def test_control_file_may_have_the_name_of_a_verb() -> None:
    for argv in (["run", "run"], ["./run"], ["./run", "run"], ["run", "./run"]):
        verb, arguments = read(argv)
        assert (verb.name, arguments.control_file) == ("run", Path("run"))


def test_words_behind_two_hyphens_are_no_options() -> None:
    verb, arguments = read(["show", "--json", "--", "-x.ctl"])
    assert (verb.name, arguments.control_file, arguments.json) == ("show", Path("-x.ctl"), True)


def test_option_with_an_optional_value_does_not_take_the_control_file_or_the_verb() -> None:
    for argv in (["run", "--affinity", "x.ctl"], ["x.ctl", "--affinity", "run"]):
        assert read(argv)[1].affinity == ""
    assert read(["run", "--affinity", "0-3,8", "x.ctl"])[1].affinity == "0-3,8"


def test_positions_are_described_or_made_by_the_kind_of_file() -> None:
    made, described = (verb for verb in verbs() if verb.name == "positions")
    assert read(["positions", "x.ctl"])[0] is made
    assert read(["x", "positions"])[0] is made
    assert read(["positions", "a.epd", "b.plain"])[0] is described


WORDS = ["x.ctl", "run", "positions", "", "-", "--", "-j", "4", "-qj2", "--affinity", "--players"]


@given(st.lists(st.one_of(st.sampled_from(WORDS), st.text(max_size=4), st.just("a" * 300))))
def test_no_words_end_in_another_exception(argv: list[str]) -> None:
    if argv:
        with contextlib.suppress(UsageError, SystemExit):
            read(argv)


def test_every_option_belongs_to_known_verbs_and_has_help() -> None:
    keys = {verb.key for verb in verbs()}
    for option in OPTIONS:
        assert set(option.verbs) <= keys
        assert all(option.help(key) for key in option.verbs)


def test_names_of_one_option_take_values_in_all_verbs_or_in_none() -> None:
    kinds = {(name, o.has_value, o.settings.get("nargs")) for o in OPTIONS for name in o.names}
    names = [name for name, *_ in kinds]
    assert len(names) == len(set(names))


def test_every_function_of_a_verb_exists() -> None:
    from importlib import import_module

    for verb in verbs():
        if verb.function:
            module, name = verb.function.split(".")
            assert callable(getattr(import_module(f"ringmaster.commands.{module}"), name))


def test_help_of_a_verb_lists_its_options_only(capsys: pytest.CaptureFixture[str]) -> None:
    for name in verb_names():
        texts = []
        for argv in (["help", name], [name, "--help"], [name, "-h", "-j", "2"]):
            assert run(argv) == 0
            texts.append(capsys.readouterr().out)
        if name == "help":
            continue
        assert len(set(texts)) == 1
        named = [verb for verb in verbs() if verb.name == name]
        known = {n for verb in named for option in verb.options() for n in option.names}
        flat = " ".join(texts[0].split())
        assert all(verb.help[1:] in flat for verb in named)
        for option in OPTIONS:
            listed = re.search(rf"^  {option.names[0]}[ ,\n]", texts[0], re.MULTILINE) is not None
            assert listed == (option.names[0] in known), (name, option.names)


@pytest.mark.parametrize("columns", ["0", "1", "2", "-5", "x"])
def test_terminal_of_any_width_shows_the_help_of_every_verb(
    columns: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    for verb in verbs():
        assert "print this" in " ".join(make_parser(verb).format_help().split())


def test_help_of_the_program_fits_a_screen_and_lists_all_verbs_and_no_options(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for argv in (["--help"], ["help"], ["x.ctl", "-h"]):
        assert run(argv) == 0
        text = capsys.readouterr().out
        assert max(map(len, text.splitlines())) <= 80
        assert len(text.splitlines()) < 50
        assert [verb.name for verb in verbs() if f"\n  {verb.label} " not in text] == []
        assert "--max-games" not in text


def test_program_without_arguments_prints_its_help_as_an_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run([]) == USAGE
    assert capsys.readouterr().err.startswith("usage: ringmaster VERB")


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["shwo", "x.ctl"], "there is no verb 'shwo'; did you mean `show`?"),
        (["resume", "x.ctl"], "there is no verb 'resume'; did you mean `run`?"),
        (["x.ctl", "--jobs", "4"], "there is no option --jobs; did you mean --parallel?"),
        (
            ["x.ctl", "--concurrency", "4"],
            "there is no option --concurrency; did you mean --parallel?",
        ),
        (["x.ctl", "fly"], "there is no verb 'fly'; `ringmaster help` lists the verbs"),
        (["x.ctl", "new"], "new has no control file"),
        (["-q"], "a control file is missing: ringmaster run FILE.ctl"),
        (["run"], "are required: FILE.ctl\nusage: ringmaster run FILE.ctl [OPTIONS]; options: "),
        (["x.ctl", "--max", "4"], "there is no option --max; did you mean --max-games?"),
        (["x.ctl", "--jsn"], "did you mean --json (of check, plan, simulate, diff and show)?"),
        (["x.ctl", "-games", "4"], "there is no option -games; did you mean --max-games?"),
        (["run", "x.ctl", "--games", "4"], "--games is an option of match and verify, not of run"),
        (["positions", "x.epd", "--most", "1"], "not of positions FILE…"),
        (["x.ctl", "-j"], "-j needs a positive integer: -j 4"),
        (["new", "go", "--from-engine"], "--from-engine needs a value: --from-engine COMMAND"),
    ],
)
def test_wrong_word_is_answered_with_the_right_one(
    argv: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert expected in message(argv, capsys)


def test_option_is_refused_for_other_verbs(capsys: pytest.CaptureFixture[str]) -> None:
    for option in OPTIONS:
        named = {key for o in OPTIONS if set(o.names) & set(option.names) for key in o.verbs}
        verb = next(verb for verb in PARSED if verb.key not in named)
        text = message([*first_words(verb), *words(option)], capsys)
        assert text.startswith(f"{option.names[-1]} is an option of ")
        assert text.endswith(f", not of {verb.label}")


@pytest.mark.parametrize(
    ("value", "example"),
    [
        (["simulate", "--elo", "-1"], "2.5"),
        (["simulate", "--elo", "1,2"], ""),
        (["simulate", "--optimum", "left"], "0.3"),
        (["simulate", "-j", "many"], "4"),
        (["run", "-g", "-1"], "100"),
        (["run", "--cluster", "node1"], "tls://node1:8786"),
        (["plan", "--seconds-per-game", "nan"], "1.5"),
        (["positions", "--per-game", "none"], "10"),
    ],
)
def test_wrong_value_is_refused_with_a_right_one(
    value: list[str], example: str, capsys: pytest.CaptureFixture[str]
) -> None:
    verb, name, text = value
    error = message([verb, "x.ctl", name, text], capsys)
    assert error.startswith(name)
    assert f", such as {example}\n" in error or not example
