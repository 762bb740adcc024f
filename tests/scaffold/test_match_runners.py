"""`ringmaster import 'fastchess …'`: the same match, or a refusal."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringmaster.competitions.common_settings import PlayerDefinition, find_player
from ringmaster.control.python_text import Call
from ringmaster.errors import UsageError, is_text
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.scaffold.control_file import Match, Places
from ringmaster.scaffold.match_runners import import_command_line, recognises
from tests.scaffold.loading import event_of

TWO = "-engine cmd=/e/one name=one -engine cmd=/e/two name=two "
THREE = TWO + "-engine cmd=/e/three name=three "
CLOCK = "-each tc=10+0.1 proto=uci "


def match_of(line: str, folder: Path = Path("/here"), control: Path | None = None) -> Match:
    return import_command_line(shlex.split(line), Places(folder, control or folder))


def loaded(line: str, folder: Path) -> LoadedCompetition:
    return event_of(match_of(line).render("x.ctl"), folder)


def arguments(match: Match, code: str) -> dict[str, Any]:
    entrant = next(e for e in match.entrants if e.code == code)
    return {k: v for k, v in entrant.arguments.items() if v not in (None, {})}


def players(loaded: LoadedCompetition) -> dict[str, PlayerDefinition]:
    values = loaded.control_file.values
    return {code: find_player(values, code, ()) for code in values["players"]}


def test_programs_are_recognised_by_name_wherever_they_are() -> None:
    for word in ("fastchess", "./fast-chess", "/usr/bin/cutechess-cli", "cutechess-cli.exe"):
        assert recognises([word])
    for word in ("./cutechess-ob", "fastchess-ob", "fastchess-ubuntu-22.04", "cutechess-cli-1.3.1"):
        assert recognises([word])
    for word in ("fastchess-engines.json", "cutechess.json", "fastchessy"):
        assert not recognises([word])
    assert not recognises(["c-chess-cli"])
    assert not recognises([])


# Pairings and limits


def test_keys_of_each_become_settings_of_all_players(tmp_path: Path) -> None:
    each = "-each tc=10+0.1 option.Hash=16 "
    command = f"fastchess -engine cmd=/e/a option.Move=3 -engine cmd=/e/b {each}-rounds 100"
    competition = loaded(f"{command} -concurrency 8 -event 'Spring \"Cup\"'", tmp_path)
    values = competition.control_file.values
    assert competition.control_file.competition_type == "playoff"
    assert (values["parallel"], values["description"]) == (8, 'Spring "Cup"')
    assert values["number_of_games"] == 200
    assert (str(values["time_control"]), values["options"]) == ("10+0.1", {"Hash": 16})
    own = {code: definition.values for code, definition in values["players"].items()}
    assert [own[code]["options"] for code in ("a", "b")] == [{"Move": 3}, None]
    assert [own[code]["time_control"] for code in ("a", "b")] == [None, None]


def test_limits_that_differ_stay_with_their_players(tmp_path: Path) -> None:
    engines = "-engine cmd=/e/a nodes=5 -engine cmd=/e/b nodes=6 -each option.Hash=16 "
    competition = loaded(f"fastchess {engines}-rounds 100", tmp_path)
    assert competition.control_file.values["nodes"] is None
    assert [p.make("x", "chess").nodes for p in players(competition).values()] == [5, 6]


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("cutechess-cli -reverse", "matchups", [Call("Matchup", ("two", "one"), {})]),
        (
            "cutechess-cli -noswap",
            "matchups",
            [Call("Matchup", ("one", "two"), {"alternating": False})],
        ),
        ("fastchess -sprt elo0=0 elo1=2 alpha=0.05 beta=0.05", "number_of_games", 1_000_000),
        ("fastchess", "number_of_games", 4),
        ("fastchess -games 1 -rounds 7", "number_of_games", 7),
        ("fastchess -rounds 2 -games 50", "number_of_games", 100),
        ("fastchess -repeat -rounds 3", "number_of_games", 6),
        ("cutechess-cli", "number_of_games", 1),
        ("cutechess-cli -games 2 -rounds 50 -repeat", "number_of_games", 100),
        ("fastchess -srand 42", "seed", 42),
        ("cutechess-cli -variant fischerandom", "variant", "chess960"),
        ("cutechess-cli -variant atomic", "variant", "atomic"),
        ("cutechess-cli -variant standard", "variant", None),
        ("fastchess -maxmoves 100", "move_limit", 200),
        ("fastchess -recover", "failures", "loss"),
        (
            "fastchess -openings file=b.pgn format=pgn order=random plies=8 start=5",
            "openings",
            Call("Openings", ("b.pgn",), {"order": "random", "start": 5, "plies": 8}),
        ),
        (
            "cutechess-cli -openings file=book.txt -repeat -games 2",
            "openings",
            Call("Openings", ("book.txt",), {"format": "pgn", "order": "sequential"}),
        ),
        (
            "cutechess-cli -each book=b.bin bookdepth=4",
            "openings",
            Call("Openings", ("b.bin",), {"format": "polyglot", "order": "random", "plies": 8}),
        ),
        (
            "fastchess -draw movenumber=34 movecount=8 score=20",
            "draw_adjudication",
            Call("DrawAdjudication", (), {"move_number": 34, "move_count": 8, "score": 20}),
        ),
        (
            "fastchess -resign movecount=3 score=600 twosided=true",
            "resign_adjudication",
            Call("ResignAdjudication", (), {"move_count": 3, "score": 600, "two_sided": True}),
        ),
        (
            "fastchess -tb /a:/b -tbpieces 6 -tbignore50",
            "tablebases",
            Call("Tablebases", (["/a", "/b"],), {"pieces": 6, "ignore_50_moves": True}),
        ),
    ],
)
def test_option_becomes_a_setting(line: str, name: str, value: Any) -> None:
    program, _, rest = line.partition(" ")
    assert match_of(f"{program} {TWO} {CLOCK} {rest}").settings.get(name) == value


def test_more_engines_play_all_against_all_or_a_gauntlet(tmp_path: Path) -> None:
    competition = loaded("fastchess " + THREE + CLOCK + "-rounds 10", tmp_path)
    assert competition.control_file.competition_type == "allplayall"
    assert competition.control_file.values["competitors"] == ("one", "two", "three")
    assert competition.control_file.values["rounds"] == 20
    match = match_of("fastchess " + THREE + CLOCK + "-tournament gauntlet -seeds 2")
    assert match.type_name == "gauntlet"
    assert match.settings["challengers"] == ["one", "two"]
    assert match.settings["opponents"] == ["three"]


# Engines


def test_engine_has_its_command_arguments_and_options() -> None:
    match = match_of(
        "fastchess -engine cmd=/e/one name='One 1.0' args='-a \"b c\"' option.Hash=64 "
        "option.Ponder=false 'option.Eval File=x y' -engine cmd=/e/two name=two st=0.5 depth=9 "
        "restart=on -each nodes=1000 option.Threads=2"
    )
    assert match.entrants[0].command == ["/e/one", "-a", "b c"]
    assert arguments(match, "One-1.0") == {
        "options": {"Hash": 64, "Ponder": False, "Eval File": "x y", "Threads": 2},
        "nodes": 1000,
    }
    assert arguments(match, "two") == {
        "options": {"Threads": 2},
        "move_time": 0.5,
        "depth": 9,
        "restart": "on",
        "nodes": 1000,
    }


@pytest.mark.parametrize(
    ("written", "control"),
    [
        ("40/60+0.6", "40/60+0.6"),
        ("40/1:30+1", "40/90+1"),
        ("8+0.08", "8+0.08"),
        ("0/10+.1", "10+0.1"),
        ("inf/10", "10"),
        ("0.5", "0.5"),
    ],
)
def test_time_controls_are_translated(written: str, control: str) -> None:
    match = match_of(f"fastchess {TWO} -each tc={written}")
    assert arguments(match, "one") == {"time_control": control}


def test_common_margin_is_a_setting_and_different_ones_are_arguments_of_players() -> None:
    assert match_of(f"fastchess {TWO} {CLOCK}").settings["margin"] == 0
    match = match_of(f"fastchess {TWO} {CLOCK} -each timemargin=50")
    assert match.settings["margin"] == 0.05
    match = match_of(
        "fastchess -engine cmd=/e/a name=a timemargin=20 -engine cmd=/e/b name=b -each tc=1+1"
    )
    assert "margin" not in match.settings
    assert [arguments(match, code)["margin"] for code in "ab"] == [0.02, 0]
    match = match_of(f"cutechess-cli {TWO} -each tc=inf nodes=500")
    assert "margin" not in match.settings
    assert arguments(match, "one") == {"nodes": 500}


def test_cutechess_takes_words_after_the_command_for_arguments() -> None:
    match = match_of(f"cutechess-cli -engine cmd='/e/x --uci' -engine cmd=/e/y arg=-a {CLOCK}")
    assert [e.command for e in match.entrants] == [["/e/x", "--uci"], ["/e/y", "-a"]]


def test_scores_from_white_are_imported_with_adjudication(tmp_path: Path) -> None:
    line = f"cutechess-cli {TWO} {CLOCK} -each whitepov -resign movecount=3 score=500"
    match = match_of(line)
    assert [entrant.arguments["score_pov"] for entrant in match.entrants] == ["white", "white"]
    assert event_of(match.render("x.ctl"), tmp_path).control_file.values["resign_adjudication"]
    assert not any("whitepov" in note for note in match.notes)


def test_engine_in_its_folder_is_found_there(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "engine").write_text("")
    (tmp_path / "other").write_text("")
    line = f"fastchess -engine cmd=engine dir=dev name=a -engine cmd=other name=b {CLOCK}"
    match = match_of(line, tmp_path)
    assert [e.command for e in match.entrants] == [["dev/engine"], ["./other"]]
    assert arguments(match, "a")["cwd"] == "dev"


def test_files_are_found_from_the_folder_of_the_control_file() -> None:
    line = f"fastchess -engine cmd=./a name=a -engine cmd=b name=b {CLOCK} -openings file=o.epd"
    match = match_of(line, Path("/home/me/match"), Path("/home/me/control"))
    assert [e.command for e in match.entrants] == [["../match/a"], ["b"]]
    assert match.settings["openings"].args == ("../match/o.epd",)


def test_absolute_names_in_either_folder_become_relative() -> None:
    line = f"fastchess -engine cmd=/home/me/match/a name=a -engine cmd=/e/b name=b {CLOCK}"
    match = match_of(line, Path("/home/me/match"), Path("/home/me/control"))
    assert [e.command for e in match.entrants] == [["../match/a"], ["/e/b"]]


def test_options_set_at_startup_become_options() -> None:
    line = f"cutechess-cli {TWO} {CLOCK} -each 'initstr=setoption name Own Book value false'"
    assert arguments(match_of(line), "one")["options"] == {"Own Book": False}


# openings, adjudication, test, records


def test_opening_for_every_encounter() -> None:
    line = f"cutechess-cli {THREE} {CLOCK} -repeat -games 2 -openings file=b.epd format=epd"
    assert match_of(line).settings["openings"].kwargs["policy"] == "encounter"
    assert "policy" not in match_of(line + " policy=round").settings["openings"].kwargs


def test_single_play_of_an_opening_becomes_a_note() -> None:
    match = match_of(f"cutechess-cli {TWO} {CLOCK} -openings file=b.epd format=epd -rounds 10")
    assert any("plays each opening once" in line for line in match.messages())


@pytest.mark.parametrize(
    ("line", "model", "pentanomial"),
    [
        ("fastchess", "normalized", True),
        ("fastchess -report penta=false", "normalized", False),
        ("fastchess -games 1", "normalized", False),
        ("fastchess -noswap", "normalized", False),
        ("cutechess-cli -repeat -games 2", "logistic", False),
    ],
)
def test_sequential_test(line: str, model: str, pentanomial: bool) -> None:
    program, _, rest = line.partition(" ")
    match = match_of(f"{program} {TWO} {CLOCK} {rest} -sprt elo0=0 elo1=2.5 alpha=0.05 beta=0.1")
    (matchup,) = match.settings["matchups"]
    assert matchup.kwargs["sprt"] == Call(
        "SPRT",
        (),
        {
            "elo0": 0,
            "elo1": 2.5,
            "alpha": 0.05,
            "beta": 0.1,
            "model": model,
            "pentanomial": pentanomial,
        },
    )


def test_requested_values_are_in_the_records() -> None:
    match = match_of(
        f"fastchess {TWO} {CLOCK} -pgnout file=g.pgn notation=lan nodes=true nps=false "
        "timeleft=true min=true"
    )
    assert match.settings["record_info"] == ["nodes", "left"]
    assert match.notes == [
        "-pgnout g.pgn (the records have the name of the control file)",
        "-pgnout notation=lan",
        "-pgnout min=true",
    ]
    assert match_of(f"cutechess-cli {TWO} {CLOCK} -pgnout g.pgn min fi").notes == match.notes[::2]


def test_crashes_lose_only_where_engines_are_recovered() -> None:
    match = match_of(f"fastchess {TWO} {CLOCK}")
    assert "failures" not in match.settings
    assert any("ends the match when an engine crashes" in line for line in match.messages())


def test_quick_match() -> None:
    match = match_of("fastchess -quick cmd=/e/a cmd=/e/b book=b.epd")
    assert match.codes() == ["a", "b"]
    assert arguments(match, "a") == {"time_control": "10+0.1"}
    assert match.settings["number_of_games"] == 50_000
    assert match.settings["openings"] == Call("Openings", ("b.epd",), {"order": "random"})


@pytest.mark.parametrize(
    "option",
    [
        *("-ratinginterval 10", "-output format=cutechess", "-epdout file=e", "-site here"),
        *("--force-concurrency", "-use-affinity"),
    ],
)
def test_option_without_counterpart_becomes_a_note(option: str) -> None:
    match = match_of(f"fastchess {TWO} {CLOCK} {option}")
    name = option.split()[0].replace("--", "-")
    assert any(line.startswith(f"not imported: {name}") for line in match.messages())
    assert f"# not imported: {name}" in match.render("x.ctl")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (f"fastchess -engine cmd=a {CLOCK}", "needs two engines, there are 1"),
        (f"fastchess {TWO} {CLOCK} -roundz 9", "no option '-roundz'; expected -rounds"),
        (f"fastchess {TWO}", "nothing limits its moves"),
        (f"fastchess {TWO} -each tc=60hg", "no hourglass clocks"),
        (f"fastchess {TWO} -each tc=10 st=1", "tc and st cannot be used together"),
        (f"cutechess-cli {TWO} -each proto=xboard", "'xboard' cannot be imported; expected uci"),
        (f"cutechess-cli {TWO} {CLOCK} -tournament knockout", "no such tournament"),
        (f"cutechess-cli {TWO} {CLOCK} -draw movenumber=1", "-draw has no movecount"),
        (f"fastchess {THREE} {CLOCK} -sprt elo0=0 elo1=1 alpha=.1 beta=.1", "-sprt is for two"),
        (f"fastchess {TWO} {CLOCK} -games 5 -rounds 30", "write -games 2 -rounds 75"),
        (f"fastchess {TWO} {CLOCK} -openings file=b.bin", "is not epd or pgn"),
        (
            f"fastchess {TWO} {CLOCK} -config file=c.json",
            "in that file; ringmaster import c.json",
        ),
        (f"fastchess oops {TWO}", "'oops' comes before the first option"),
        (f"cutechess-cli {TWO} {CLOCK} -engine cmd=/e/c book=x.bin", "different books"),
        (f"fastchess {TWO} {CLOCK} -each colour=red", "has 'colour'; expected"),
        (f"cutechess-cli -engine conf=Best {CLOCK}", "an engines.json is not read; write the"),
        (f"fastchess {TWO} {CLOCK} -seeds -1", "'-1' is not an integer of at least 0"),
    ],
)
def test_option_for_another_match_is_refused(line: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        match_of(line)


# hostile and broken text

WORD = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
KEY = st.sampled_from(
    [
        *("cmd", "name", "tc", "st", "nodes", "option.Hash", "option.X y", "dir", "args", "arg"),
        *("file", "format", "order", "plies", "elo0", "elo1", "alpha", "beta", "score", "restart"),
        *("movecount", "movenumber", "timemargin", "initstr", "proto", "book", "penta"),
    ]
)
VALUE = (
    st.sampled_from(["1", "0", "-1", "10+0.1", "true", "uci", "epd", "b.pgn", "inf", "0.05", "'"])
    | WORD
)
FLAG = st.sampled_from(
    [
        *("-engine", "-each", "-rounds", "-games", "-draw", "-resign", "-openings", "-sprt"),
        *("-pgnout", "-tb", "-srand", "-event", "-concurrency", "-repeat", "-recover"),
        *("-tournament", "-maxmoves", "-report", "-quick", "-reverse", "-noswap", "-seeds"),
    ]
)
ANY = st.lists(FLAG | VALUE | st.builds(lambda k, v: f"{k}={v}", KEY, VALUE), max_size=12)


@settings(
    deadline=None,
)
@given(
    st.sampled_from(["fastchess", "cutechess-cli"]),
    st.sampled_from(["", TWO, TWO + CLOCK, THREE + CLOCK]),
    ANY,
)
def test_any_words_give_a_file_that_loads_or_an_error(
    tmp_path_factory: pytest.TempPathFactory, program: str, head: str, words: list[str]
) -> None:
    given_words = [program, *shlex.split(head), *words]
    if not all(map(is_text, given_words)):
        return
    try:
        match = import_command_line(given_words, Places(Path("/here"), Path("/here")))
    except UsageError:
        return
    text = match.render("x.ctl")
    event_of(text, tmp_path_factory.mktemp("any"))


HOSTILE = [
    '"; import os; os.abort() #',
    "'''\nimport os\nos.abort()\n'''",
    "\nraise SystemExit",
    "\\",
    "\u2028raise SystemExit",
    "\x0craise SystemExit",
    "{raise_}",
    "-*- coding: utf-7 -*-",
]


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize(
    "words",
    [
        ["-event", "{}"],
        ["-each", "args=x{}"],
        ["-each", "dir={}"],
        ["-each", "name={}"],
        ["-each", "cmd={}"],
        ["-openings", "file={}.epd"],
        ["-pgnout", "file={}"],
        ["-site", "{}"],
        ["-invented", "{}"],
    ],
)
def test_hostile_text_stays_a_value(text: str, words: list[str], tmp_path: Path) -> None:
    line = ["fastchess", *shlex.split(TWO + CLOCK), *(w.replace("{}", text) for w in words)]
    try:
        match = import_command_line(line, Places(Path("/here"), Path("/here")))
    except UsageError:
        return
    competition = event_of(match.render("x.ctl"), tmp_path)
    assert set(competition.control_file.namespace) & {"os", "raise_"} == set()
    assert len(players(competition)) == 2
