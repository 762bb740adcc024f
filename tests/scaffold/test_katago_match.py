"""`ringmaster import match.cfg`: the bots of `katago match` as players."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringmaster.commands.new import checked
from ringmaster.control.python_text import Call
from ringmaster.errors import ParameterFileError, UsageError
from ringmaster.parameter_files.text import Text
from ringmaster.scaffold.control_file import Match, Places
from ringmaster.scaffold.katago_match import import_files, recognises
from tests.competitions.golden import check_golden
from tests.scaffold.loading import event_of

GAMES = """
numGamesTotal = 600
numGameThreads = 8
maxMovesPerGame = 1200

koRules = POSITIONAL
scoringRules = AREA
taxRules = NONE
multiStoneSuicideLegals = false
hasButtons = false
bSizes = 19
bSizeRelProbs = 1
komiMean = 7
"""
TWO = f"""{GAMES}
numBots = 2
botName0 = new
botName1 = old
nnModelFile = net.bin.gz
"""


def imported(text: str, control: Path = Path("/here")) -> Match:
    return import_files([Text("match.cfg", text)], Places(Path("/here"), control))


def commands(match: Match) -> list[str]:
    """Return the -override-config of each player, "" for none."""
    return [e.command[-1] if "-override-config" in e.command else "" for e in match.entrants]


def test_two_bots_play_a_match(tmp_path: Path) -> None:
    text = TWO.replace(
        "nnModelFile =", "nnModelFile1 = nets/old.bin.gz  # the older\nnnModelFile ="
    )
    match = imported(
        f"""# a comment
        {text}
        logSearchInfo = false
        logToStdout = true
        handicapProb = 0.0
        handicapCompensateKomiProb = 1.0
        blackPriority = 1
        allowResignation = true
        resignThreshold = -0.95
        resignConsecTurns = 6
        maxVisits0 = 100
        maxVisits1 = 300
        maxPlayouts1 = 400
        numSearchThreads = 1
        chosenMoveTemperatureEarly = 0.60
        cpuctExploration0 = 1.5
        """,
        Path("/here/control"),
    )
    check_golden("import_katago_match", match.render("x.ctl"))
    values = event_of(match.render("x.ctl"), tmp_path).control_file.values
    assert values["number_of_games"] == 600
    assert str(values["players"]["new"].values["cwd"]) == str(tmp_path)


def test_more_bots_play_all_against_all(tmp_path: Path) -> None:
    match = imported(TWO.replace("numBots = 2", "numBots = 3\nbotName2 = third"))
    assert match.type_name == "allplayall"
    assert match.settings["competitors"] == ["new", "old", "third"]
    assert match.settings["rounds"] == 200
    event_of(match.render("x.ctl"), tmp_path)


def test_secondary_bots_do_not_play_each_other() -> None:
    text = TWO.replace("numBots = 2", "numBots = 3\nbotName2 = third")
    match = imported(f"{text}secondaryBots = 0, 2")
    assert match.settings["matchups"] == [
        Call("Matchup", ("new", "old")),
        Call("Matchup", ("old", "third")),
    ]
    assert match.settings["number_of_games"] == 300
    with pytest.raises(UsageError, match="no two bots play each other"):
        imported(f"{text}secondaryBots = 0,1,2")


def test_first_of_several_rules_is_played_and_named() -> None:
    text = re.sub("koRules = .*", "koRules = SITUATIONAL, SIMPLE", TWO)
    text = re.sub(
        "bSizes = .*", "bSizes = 13,9", re.sub("hasButtons = .*", "hasButtons=true", text)
    )
    match = imported(text)
    assert match.settings["rules"].kwargs == {
        **{"ko": "situational", "scoring": "area", "tax": "none", "suicide": False},
        "button": True,
    }
    assert match.settings["board_size"] == 13
    assert match.different[:2] == [
        "koRules = SITUATIONAL, SIMPLE: all games have situational",
        "bSizes = 13,9: all games have 13",
    ]


@pytest.mark.parametrize(
    ("lines", "first", "second"),
    [
        ("cpuctExploration = 1.1", "cpuctExploration=1.1", "cpuctExploration=1.1"),
        ("lcbStdevs1=4\nlcbStdevs=5", "lcbStdevs=5", "lcbStdevs=4"),
        ("rootFpuReductionMax0 = 0.1", "rootFpuReductionMax=0.1", ""),
        ("cudaUseFP16 = auto", "cudaUseFP16=auto", "cudaUseFP16=auto"),
        ("trtDeviceToUseThread1 = 1", "trtDeviceToUseThread1=1", "trtDeviceToUseThread1=1"),
        ("maxTime1 = 5.5", "", "maxTime=5.5"),
        ('humanSLProfile = "rank_5k" # quoted', "humanSLProfile=rank_5k", "humanSLProfile=rank_5k"),
        ("unknownKey = 1\nunknownKey7 = 2", "unknownKey=1", "unknownKey=1"),
    ],
)
def test_keys_of_the_search_are_given_to_their_bots(lines: str, first: str, second: str) -> None:
    assert commands(imported(TWO + lines)) == [first, second]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("logGamesEvery = 50", "not imported: logGamesEvery = 50 (every run writes a log)"),
        ("handicapProb = 0.0", "not imported: handicapProb = 0.0 (there are no handicaps"),
        ("policyInitAreaProp = 0.04", "not imported: policyInitAreaProp = 0.04 (games begin"),
        ("handicapProb = 0.3", "different here: handicapProb = 0.3: there are no handicaps"),
        ("komiStdev = 1", "different here: komiStdev = 1: komi is the same in all games"),
        ("initGamesWithPolicy = true", "different here: initGamesWithPolicy = true: games begin"),
        ("extraPairs = 0-1", "different here: extraPairs = 0-1: write the pairs as Matchup(…)"),
        ("blackPriority = 1,0", "different here: blackPriority = 1,0: colours are swapped"),
        ("cudaGpuToUseModel1 = 2", "different here: cudaGpuToUseModel1 = 2: a player has one"),
    ],
)
def test_key_without_counterpart_is_named(line: str, message: str) -> None:
    match = imported(TWO + line)
    assert any(each.startswith(message) for each in match.messages())
    assert commands(match) == ["", ""]


def test_automatic_komi_is_named() -> None:
    match = imported(TWO.replace("komiMean = 7", "komiAuto = True"))
    assert match.settings["komi"] == 7.5
    assert any(line.startswith("komiAuto = True: komi is the same") for line in match.different)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("numGamesTotal = 600", "", "match.cfg has no numGamesTotal"),
        ("koRules = POSITIONAL", "koRules = SPIGHT", "koRules: 'spight' is not simple or"),
        ("bSizes = 19", "bSizesXY = 9-7", "match.cfg has no bSizes"),
        ("bSizes = 19", "bSizes = 39", "bSizes: '39' is not an integer"),
        ("numBots = 2", "numBots = 1", "numBots: '1' is not an integer of at least 2"),
        ("botName1 = old", "", "match.cfg has no botName1"),
        ("nnModelFile = net.bin.gz", "nnModelFile0 = a", "match.cfg has no nnModelFile1"),
        ("numBots = 2", "numBots = 2\nmaxVisits = 0", "maxVisits: '0' is not an integer"),
        ("komiMean = 7", "komiMean = fair", "komiMean: 'fair' is not a number"),
    ],
)
def test_missing_or_wrong_value_is_refused(old: str, new: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        imported(TWO.replace(old, new))


def test_line_that_is_no_pair_is_shown() -> None:
    with pytest.raises(
        ParameterFileError, match=r"match\.cfg:2: this is not KEY = VALUE"
    ) as caught:
        imported("numBots = 2\n@include other.cfg")
    assert caught.value.details == ("    2 | @include other.cfg",)


def test_other_configurations_are_not_of_a_match() -> None:
    assert recognises(Text("x", "# numBots\n numBots=1"))
    assert not recognises(Text("gtp.cfg", "# numBots = 2\nrules = japanese\nmaxVisits = 500"))


KEY = st.sampled_from(
    [
        *("numBots", "botName", "botName0", "nnModelFile", "numGamesTotal", "koRules", "taxRules"),
        *("bSizes", "maxVisits", "maxPlayouts1", "komiMean", "secondaryBots", "hasButtons", "x"),
        *("numGameThreads", "cpuctExploration0", "handicapProb", "openclGpuToUseModel0Thread1"),
    ]
)
VALUE: st.SearchStrategy[Any] = st.sampled_from(
    ["0", "1", "2", "3", "-1", "7.5", "SIMPLE", "AREA,TERRITORY", "true", "0,1", '"a b"', "# x"]
) | st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


@settings(deadline=None)
@given(
    st.sampled_from(["numBots=2\n", GAMES, TWO]),
    st.lists(st.tuples(KEY, VALUE).map(lambda pair: f"{pair[0]} = {pair[1]}"), max_size=6),
)
def test_any_lines_give_a_file_that_loads_or_an_error(head: str, lines: list[str]) -> None:
    try:
        match = imported(head + "\n".join(lines))
        checked(match.render("x.ctl"), "x.ctl")
    except (UsageError, ParameterFileError):
        return
    assert len(match.entrants) > 1
