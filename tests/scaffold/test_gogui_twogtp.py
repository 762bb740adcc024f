"""`ringmaster import gogui-twogtp …`: the same match, or a refusal."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringmaster.commands.new import checked
from ringmaster.control.python_text import Call
from ringmaster.errors import UsageError, is_text
from ringmaster.scaffold.control_file import Match, Places
from ringmaster.scaffold.match_runners import import_command_line, recognises
from tests.competitions.golden import check_golden
from tests.scaffold.loading import event_of

TWO = "-black 'gnugo --mode gtp' -white './leelaz -g' "


def match_of(options: str, folder: Path = Path("/here"), control: Path | None = None) -> Match:
    words = ["gogui-twogtp", *shlex.split(options)]
    return import_command_line(words, Places(folder, control or folder))


def test_program_is_recognised_wherever_it_is() -> None:
    for word in ("gogui-twogtp", "twogtp", "/opt/gogui/bin/gogui-twogtp"):
        assert recognises([word, "-black", "x"])
    assert recognises(["java", "-Xmx64m", "-jar", "/opt/lib/gogui-twogtp.jar", "-black", "x"])
    for words in (["java", "-jar"], ["java", "-jar", "gogui.jar"], ["twogtp.dat"], ["-jar"]):
        assert not recognises(words)


def test_whole_command_line_becomes_a_control_file(tmp_path: Path) -> None:
    match = match_of(
        TWO
        + "-games 100 -size 9 -alternate -auto -komi 7 -time 10m+30s/5 -threads 2 -maxmoves 300 "
        "-sgffile out/games -force -openings 'my book' -referee 'gnugo --chinese-rules --mode gtp'",
        Path("/home/me/match"),
        Path("/home/me/control"),
    )
    text = match.render("x.ctl")
    check_golden("import_gogui_twogtp", text)
    values = event_of(text, tmp_path).control_file.values
    assert values["number_of_games"] == 100
    assert [*values["players"]] == ["gnugo", "leelaz", "referee"]


def test_defaults_are_those_of_gogui(tmp_path: Path) -> None:
    values = event_of(match_of(TWO).render("x.ctl"), tmp_path).control_file.values
    names = ("number_of_games", "alternating", "board_size", "komi", "move_limit", "parallel")
    assert [values[name] for name in names] == [1, False, 19, 6.5, 1000, 1]


@pytest.mark.parametrize(
    ("options", "name", "value"),
    [
        ("-games 0", "number_of_games", None),
        ("-alternate", "alternating", True),
        ("-komi -5.5", "komi", -5.5),
        ("-handicap 0", "handicap", None),
        ("-handicap 4", "handicap", 4),
        ("-maxmoves -1", "move_limit", 1_000_000),
        ("--size 13", "board_size", 13),
        ("-openings book", "openings", Call("Openings", ("openings.sgf",))),
    ],
)
def test_option_becomes_a_setting(options: str, name: str, value: Any) -> None:
    assert match_of(TWO + options).settings.get(name) == value


@pytest.mark.parametrize(
    ("written", "control"),
    [
        ("10", "600"),
        ("90s", "90"),
        ("1 min", "60"),
        ("10+1/25", "600+25/60"),
        ("0+30sec/1", "0+1/30"),
        ("5m + 45s / 3", "300+3/45"),
    ],
)
def test_time_controls_are_in_seconds(written: str, control: str, tmp_path: Path) -> None:
    match = match_of(f"{TWO} -time '{written}'")
    assert [e.arguments["time_control"] for e in match.entrants] == [control, control]
    loaded = event_of(match.render("x.ctl"), tmp_path)
    assert str(loaded.control_file.values["time_control"]) == control
    assert any("exceeds its clock loses" in line for line in match.different)


@pytest.mark.parametrize(
    "option", ["-debugtocomment", "-force", "-observer 'gnugo --mode gtp'", "-verbose", "-xml"]
)
def test_option_without_counterpart_becomes_a_note(option: str) -> None:
    match = match_of(TWO + option)
    assert match.notes[0].startswith(f"{shlex.split(option)[0]} ".strip())
    assert match.different == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("-compare a.sgf b.sgf", "-compare: it plays no match"),
        ("-analyze a.dat", "-analyze: it plays no match"),
        ("-config options.txt", "write them on the command line"),
        ("-white x", "'' is not a command"),
        (TWO + "-game 5", "no option '-game'; expected '-games'"),
        ("-black gnugo --mode gtp", "quotes around the command of an engine"),
        ("-black gnugo gtp", "-black takes one value, not 2"),
        (TWO + "-time 10:00", "is not base time"),
        (TWO + "-size 1", "'1' is not an integer of at least 2"),
        (TWO + "-handicap 1", "'1' is not an integer of at least 2"),
        ("-black 'x \"' -white y", "No closing quotation"),
    ],
)
def test_option_for_another_match_is_refused(options: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        match_of(options)


WORD = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
VALUE = st.sampled_from(["0", "1", "-1", "9", "6.5", "10+1/5", "0s", "gnugo", "x y", "'"]) | WORD
FLAG = st.sampled_from(
    [
        *("-alternate", "-auto", "-black", "-force", "-games", "-handicap", "-komi", "-maxmoves"),
        *("-observer", "-openings", "-referee", "-size", "-sgffile", "-threads", "-time", "-white"),
    ]
)


@settings(deadline=None)
@given(st.sampled_from(["", TWO]), st.lists(st.tuples(FLAG, VALUE) | st.tuples(FLAG), max_size=6))
def test_any_words_give_a_file_that_loads_or_an_error(
    head: str, options: list[tuple[str, ...]]
) -> None:
    words = ["twogtp", *shlex.split(head), *(word for option in options for word in option)]
    if not all(map(is_text, words)):
        return
    try:
        match = import_command_line(words, Places(Path("/here"), Path("/here")))
        checked(match.render("x.ctl"), "x.ctl")
    except UsageError:
        return
    assert len(match.settings["matchups"]) == 1
