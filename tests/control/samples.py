"""Settings tables and control files in Gomill's manner, for the tests of `control`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ringmaster.control.loader import ControlFile, load
from ringmaster.model.settings import (
    Boolean,
    CallOf,
    Context,
    DictOf,
    Float,
    Function,
    Identifier,
    Integer,
    ListOf,
    Maybe,
    OneOf,
    Scalar,
    Setting,
    String,
    Words,
)


def as_dict(values: dict[str, Any], context: Context) -> dict[str, Any]:
    return values


CLOCK = CallOf("TimeControl", (Setting("text", String(), "."),), as_dict, ("text",), shorthand=True)

PLAYER = CallOf(
    "Player",
    (
        Setting("command", Words(), "The executable and its arguments."),
        Setting("cwd", Maybe(String()), "Working directory.", None),
        Setting("options", Maybe(DictOf(String(), Scalar())), "UCI options.", None),
        Setting("startup_gtp_commands", ListOf(Words()), "GTP commands.", ()),
        Setting("time_control", Maybe(CLOCK), "Its clock.", None),
    ),
    as_dict,
    positional=("command",),
)


def make_matchup(values: dict[str, Any], context: Context) -> dict[str, Any]:
    if values["player_1"] == values["player_2"]:
        raise ValueError("a player cannot meet itself")
    return values


MATCHUP = CallOf(
    "Matchup",
    (
        Setting("player_1", Identifier(), "One player."),
        Setting("player_2", Identifier(), "The other player."),
        Setting("board_size", Integer(minimum=2, maximum=25), "Size of the board.", 19),
        Setting("komi", Float(), "Points for White.", 7.5),
        Setting("handicap", Maybe(Integer(minimum=2)), "Stones.", None),
        Setting("handicap_style", OneOf("fixed", "free"), "Where they go.", "fixed"),
        Setting("scorer", OneOf("players", "internal"), "Who scores.", "players"),
        Setting("alternating", Boolean(), "Whether colours alternate.", False),
        Setting("move_limit", Integer(minimum=1), "Moves.", 1000),
        Setting("number_of_games", Maybe(Integer(minimum=1)), "Games.", None),
    ),
    make_matchup,
    positional=("player_1", "player_2"),
)

LOG = CallOf(
    "LOG",
    (Setting("lower", Float(above=0), "."), Setting("upper", Float(above=0), ".")),
    as_dict,
    ("lower", "upper"),
)

PARAMETER = CallOf(
    "Parameter",
    (
        Setting("code", Identifier(), "The parameter's name."),
        Setting("scale", LOG, "Its scale."),
        Setting("split", Integer(minimum=1), "Children of a node."),
        Setting("format", Maybe(String()), "How it is shown.", None),
    ),
    as_dict,
    positional=("code",),
)


@dataclass(frozen=True)
class FunctionGiving(Function):
    """A function that says what it gives."""

    gives: CallOf | None = None


COMMON = (
    Setting("players", DictOf(Identifier(), PLAYER), "The engines.", change="free"),
    Setting("description", Maybe(String()), "Text for the report.", None),
    Setting("board_size", Integer(minimum=2, maximum=25), "Size of the board.", 19),
    Setting("komi", Float(), "Points for White.", 7.5),
    Setting("number_of_games", Maybe(Integer(minimum=1)), "Games.", None),
    Setting("record_games", Boolean(), "Whether to keep records.", True),
    Setting("stderr_to_log", Boolean(), "Where standard error goes.", True),
)

PLAYOFF = (*COMMON, Setting("matchups", ListOf(MATCHUP), "Who meets whom.", change="refused"))

MC_TUNER = (
    *COMMON,
    Setting("parameters", ListOf(PARAMETER, minimum=1), "What is tuned.", change="refused"),
    Setting("make_candidate", FunctionGiving("a function", gives=PLAYER), "Makes the candidate."),
    Setting("exploration_coefficient", Float(above=0), "UCB's constant.", 0.2),
    Setting("initial_visits", Integer(minimum=1), "Visits of a new node.", 10),
    Setting("candidate_colour", OneOf("b", "w", "random"), "Its colour.", "b"),
    Setting("opponent", Maybe(Identifier()), "Who it plays.", None),
)

TABLES: Mapping[str, Sequence[Setting]] = {"playoff": PLAYOFF, "mc_tuner": MC_TUNER}

PLAYOFF_FILE = '''\
# A playoff in the forms of Gomill's manual.
competition_type = 'playoff'

description = """
Two levels, and a third engine.
"""

record_games = True
stderr_to_log = False

players = {
    # adjacent literals
    'level-1' : Player("engine --mode=gtp --chinese "
                       "--level=1"),

    'level-%d' % 2 : Player("engine --mode=gtp --level=%d" % 2),

    'third' : Player("third --quiet",
                     startup_gtp_commands=[
                         "go_param timelimit 999999",
                         "uct_max_memory 350000000",
                         ]),
    }

board_size = 9
komi = 6

matchups = [
    Matchup('level-1', 'third', board_size=13,
            handicap=2, handicap_style='free', komi=0,
            scorer='players', number_of_games=5),

    Matchup('level-2', 'third', alternating=True,
\t    scorer='players', move_limit=200),

    Matchup('level-1', 'level-2',
            komi=0.5,
            scorer='internal'),
    ]
'''

TUNER_FILE = '''\
competition_type = "mc_tuner"

description = """\\
Tunes two parameters.
"""

players = {
    'rival' : Player("engine --mode=gtp "
                     "--level=10"),
    }

def engine(max_games, additional_commands=[]):
    commands = [
        "go_param timelimit 999999",
        "uct_param_player max_games %d" % max_games,
        ]
    return Player(
        "third --quiet",
        startup_gtp_commands=commands+additional_commands)

MAX_GAMES = 5000 / 2

parameters = [
    Parameter('weight_initial',
              scale = LOG(0.01, 5.0),
              split = 8,
              format = "I: %4.2f"),

    Parameter('weight_final',
              scale = LOG(1e2, 1e5),
              split = 8,
              format = "F: %4.2f"),
    ]

def make_candidate(wi, wf):
    return engine(
        MAX_GAMES,
        ["uct_param_search weight_initial %f" % wi,
         "uct_param_search weight_final %f" % wf])

board_size = 19
komi = 7.5
opponent = 'rival'
candidate_colour = 'w'
number_of_games = 10000
exploration_coefficient = 0.45
'''


def load_text(
    folder: Path, text: str | bytes, name: str = "tune.ctl", **options: Any
) -> ControlFile:
    """Write a control file and load it."""
    file = folder / name
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return load(file, TABLES.get, list(TABLES), **options)
