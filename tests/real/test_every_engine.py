"""Engines play without a void game or a forfeit; each game is judged
again by rules and readers that are not ringmaster's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import ringmaster as library
from ringmaster.cli import run
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.results.games import Game
from tests.program import ringmaster
from tests.real.judges import judge_chess, judge_go
from tests.requirements import engine

pytestmark = pytest.mark.real

OPENINGS = Path("controlfiles/openings.epd").resolve()

#: Limits that make short work of a move, and the options that keep an engine to
#: one thread and to its own thoughts.
CHESS = {
    "stockfish": 'nodes=200, options={"Hash": 1}',
    "fairy-stockfish": 'nodes=200, options={"Hash": 1}',
    "ethereal-chess": 'depth=3, options={"Hash": 2}',
    "glaurung": 'depth=3, options={"Threads": 1, "OwnBook": False, "Hash": 4}',
    "toga2": 'depth=3, options={"OwnBook": False, "Hash": 4}',
}


def play(folder: Path, source: str, judge: Callable[[Game, str], None]) -> Counter[str]:
    """Play an event, and judge its games; returns how many each player had."""
    control = folder / "event.ctl"
    control.write_text(source)
    done = ringmaster(control, "-j", "2")
    assert done.returncode == 0, done.stderr
    results = library.load(control)
    played: Counter[str] = Counter()
    for game in results.games:
        assert game.outcome in ("win", "draw"), f"{game.id}: {game.reason} {game.detail}"
        assert not game.is_forfeit, f"{game.id}: {game.reason} {game.detail}"
        assert game.record_path is not None
        judge(game, game.record_path.read_text())
        played.update(game.players)
    return played


def test_five_chess_engines_play_each_other(tmp_path: Path) -> None:
    players = "\n".join(
        f'    "{name}": Player("{engine(name)}", {limit}),' for name, limit in CHESS.items()
    )
    played = play(
        tmp_path,
        f"""
competition_type = "allplayall"
game = "chess"
players = {{
{players}
}}
competitors = {list(CHESS)}
openings = Openings("{OPENINGS}", order="random", policy="encounter")
move_limit = 200
rounds = 2
""",
        judge_chess,
    )
    assert played == dict.fromkeys(CHESS, 8)


def test_gnugo_plays_itself(tmp_path: Path) -> None:
    gnugo = engine("gnugo")
    played = play(
        tmp_path,
        f"""
competition_type = "playoff"
players = {{
    "l1": Player("{gnugo} --mode=gtp --chinese-rules --capture-all-dead --level=1"),
    "l2": Player("{gnugo} --mode=gtp --chinese-rules --capture-all-dead --level=2"),
}}
board_size = 7
komi = 6.5
scorer = "internal"
matchups = [Matchup("l1", "l2", alternating=True, number_of_games=8)]
""",
        lambda game, record: judge_go(game, record, area=True),
    )
    assert played == {"l1": 8, "l2": 8}


@pytest.mark.parametrize(
    ("game", "name", "some"),
    [
        ("chess", "toga2", {"King Safety", "Futility Margin"}),
        ("shogi", "fairy-stockfish", {"Contempt"}),
    ],
)
def test_parameters_made_of_an_engines_own_options_are_taken_by_it(
    game: str, name: str, some: set[str], tmp_path: Path
) -> None:
    control = tmp_path / "my.ctl"
    assert run(["new", game, "spsa", str(control), "--from-engine", engine(name)]) == 0
    codes = {p.code for p in LoadedCompetition(control).control_file.values["parameters"]}
    assert some <= codes
    assert not codes & {"Hash", "Threads", "MultiPV", "Number of Threads", "Randomness"}
    assert run([str(control), "check", "--quick"]) == 0
