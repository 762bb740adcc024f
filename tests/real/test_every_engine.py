"""Every engine plays twenty games or more without a void one; each game is judged
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
from tests.real.judges import judge_chess, judge_go, judge_shogi
from tests.requirements import engine, package

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
    done = ringmaster(control, "-j", "2", timeout=500)
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


def test_five_chess_engines_play_twenty_games_each(tmp_path: Path) -> None:
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
rounds = 6
""",
        judge_chess,
    )
    assert played == dict.fromkeys(CHESS, 24)


def test_two_shogi_engines_play_twenty_games(tmp_path: Path) -> None:
    package("cshogi")
    fairy, gps = engine("fairy-stockfish"), engine("gpsusi")
    played = play(
        tmp_path,
        f"""
competition_type = "playoff"
game = "shogi"
players = {{
    "fairy": Player("{fairy}", nodes=500, options={{"Threads": 1}}),
    # Its only limits are its clock and its command line.
    "gps": Player(
        "{gps} --node-count-hard-limit 2000 -N 1 --memory-use-percent 2",
        time_control="300+10byo", ready_timeout=200,
    ),
}}
matchups = [Matchup("fairy", "gps", number_of_games=20)]
""",
        judge_shogi,
    )
    assert played == {"fairy": 20, "gps": 20}


def test_shogi_games_are_played_to_their_end(tmp_path: Path) -> None:
    package("cshogi")
    fairy = engine("fairy-stockfish")
    played = play(
        tmp_path,
        f"""
competition_type = "playoff"
game = "shogi"
players = {{
    "n200": Player("{fairy}", nodes=200, options={{"Threads": 1}}),
    "n400": Player("{fairy}", nodes=400, options={{"Threads": 1}}),
}}
matchups = [Matchup("n200", "n400", number_of_games=20)]
""",
        judge_shogi,
    )
    assert played == {"n200": 20, "n400": 20}


def test_gnugo_plays_twenty_games(tmp_path: Path) -> None:
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
matchups = [Matchup("l1", "l2", alternating=True, number_of_games=20)]
""",
        lambda game, record: judge_go(game, record, area=True),
    )
    assert played == {"l1": 20, "l2": 20}


@pytest.mark.parametrize(
    ("game", "name", "some"),
    [
        ("chess", "toga2", {"King Safety", "Futility Margin"}),
        ("chess", "glaurung", {"Mobility (Endgame)", "Queen Check Bonus"}),
        ("chess", "fairy-stockfish", {"Contempt"}),
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
