"""Real engines play real games through the whole program."""

from __future__ import annotations

import io
import os
import re
import sys
from pathlib import Path

import chess.pgn
import psutil
import pytest
from sgfmill import sgf

import ringmaster
from tests.program import ringmaster as run_ringmaster
from tests.program import shown
from tests.requirements import engine

pytestmark = pytest.mark.real

GNUGO = "--mode=gtp --chinese-rules --capture-all-dead"


def play(folder: Path, source: str, *arguments: str) -> Path:
    control = folder / "event.ctl"
    control.write_text(source)
    done = run_ringmaster(control, *arguments)
    assert done.returncode == 0, done.stderr
    return control


def records(control: Path) -> list[str]:
    return [path.read_text() for path in sorted(control.with_suffix(".games").iterdir())]


def alive(*names: str) -> list[str]:
    """Return the names of living processes whose program is one of these and
    that a run of these tests has started: other runs may go on beside them."""
    match = []
    for process in psutil.process_iter():
        try:
            environ = process.environ()
            ours = environ.get("PYTEST_CURRENT_TEST") == os.environ["PYTEST_CURRENT_TEST"]
            if process.name() in names and ours:
                match.append(process.name())
        except psutil.Error:
            continue
    return match


def test_nodes_and_options_of_all_players_reach_stockfish(tmp_path: Path) -> None:
    control = play(
        tmp_path,
        f"""
competition_type = "playoff"
game = "chess"
nodes = 300
options = {{"Hash": 8, "Threads": 1}}
move_limit = 10
skip_player_checks = True
number_of_games = 1
players = {{
    "a": Player("{engine("stockfish")}"),
    "b": Player("{engine("stockfish")}", options={{"hash": 4}}),
}}
matchups = [Matchup("a", "b"), Matchup("a", "b", id="deep", nodes=700)]
""",
        "--log-gtp",
    )
    for id, nodes in (("0_0", 300), ("deep_0", 700)):
        log = (control.with_suffix(".gtplogs") / f"{id}.log").read_text()
        sent = re.findall(r"(\w+) *> ?(.*)", log)
        go = [line for _, line in sent if line.startswith("go")]
        assert len(go) >= 9
        assert set(go) == {f"go nodes {nodes}"}
    first = (control.with_suffix(".gtplogs") / "0_0.log").read_text()
    assert "setoption name Hash value 8" in first
    assert "setoption name Hash value 4" in first


@pytest.mark.parametrize("scorer", ["players", "internal"])
def test_gnugo_levels_play_on_9x9(tmp_path: Path, scorer: str) -> None:
    gnugo = engine("gnugo")
    control = play(
        tmp_path,
        f"""
competition_type = "playoff"
players = {{
    "l1": Player("{gnugo} {GNUGO} --level=1"),
    "l2": Player("{gnugo} {GNUGO} --level=2"),
}}
board_size = 9
komi = 6.5
scorer = "{scorer}"
matchups = [
    Matchup("l1", "l2", alternating=True, number_of_games=2),
    Matchup("l1", "l2", id="fixed", handicap=3, number_of_games=1),
    Matchup("l1", "l2", id="free", handicap=3, handicap_style="free", number_of_games=1),
]
""",
        "-j",
        "2",
    )
    games = [sgf.Sgf_game.from_string(text) for text in records(control)]
    assert len(games) == 4
    for game in games:
        assert game.get_size() == 9
        assert re.fullmatch(r"[BW]\+(\d+(\.5)?|R)", game.root.get("RE"))
        assert game.root.get("PB") == "GNU Go:3.8"
        assert len(game.get_main_sequence()) > 20
    assert sum(game.get_handicap() == 3 for game in games) == 2
    assert alive("gnugo") == []


def test_stockfish_plays_glaurung_on_a_clock(tmp_path: Path) -> None:
    stockfish, glaurung = engine("stockfish"), engine("glaurung")
    control = play(
        tmp_path,
        f"""
competition_type = "playoff"
game = "chess"
players = {{
    "sf": Player("{stockfish}", nodes=300, options={{"Hash": 1}}),
    # The depth keeps a busy machine from mattering.
    "gl": Player("{glaurung}", time_control="60+0.01", depth=4,
                 options={{"Threads": 1, "OwnBook": False, "Hash": 4}}),
}}
openings = Openings("{Path("controlfiles/openings.epd").resolve()}", order="random")
matchups = [Matchup("sf", "gl", number_of_games=4)]
""",
        "-j",
        "2",
    )
    games = [chess.pgn.read_game(io.StringIO(text)) for text in records(control)]
    assert len(games) == 4
    pairs = []
    for game in games:
        assert game is not None
        assert game.errors == []
        assert game.headers["Result"] in ("1-0", "0-1", "1/2-1/2")
        pairs.append((game.headers["FEN"], game.headers["White"]))
    assert pairs[0][0] == pairs[1][0] != pairs[2][0] == pairs[3][0]
    assert [white for _, white in pairs] == ["sf", "gl", "sf", "gl"]
    assert shown(control)["matchups"][0]["forfeits"] == [0, 0]
    assert alive("stockfish", "glaurung") == []


def test_options_of_a_real_engine_are_tuned(tmp_path: Path) -> None:
    toga2 = engine("toga2")
    control = play(
        tmp_path,
        f"""
competition_type = "spsa"
game = "chess"
players = {{"e": Player("{toga2}", depth=3, options={{"OwnBook": False, "Hash": 4}})}}
player = "e"
parameters = [
    Parameter("Piece Activity", start=50, min=0, max=200, c_end=40, r_end=0.05, integer=True),
]
openings = Openings("{Path("controlfiles/openings.epd").resolve()}", order="random")
number_of_games = 16
""",
        "-j",
        "2",
        "--log-gtp",
    )
    assert shown(control)["games"] == {"completed": 16, "void": 0, "in_progress": 0, "total": 16}
    assert not any(game.is_forfeit for game in ringmaster.load(control).games)
    log = (control.with_suffix(".gtplogs") / "1a.log").read_text()
    values = re.findall(r"> setoption name Piece Activity value (\d+)", log)
    # the check of the whole range comes first
    assert len(values) >= 2
    assert int(values[-2]) != int(values[-1])
    assert alive("toga2") == []


@pytest.mark.parametrize("name", ["stockfish", "toga2"])
def test_engine_passes_its_check_and_loses_no_game_on_time(tmp_path: Path, name: str) -> None:
    command = engine(name)
    control = play(
        tmp_path,
        f"""
competition_type = "playoff"
game = "chess"
e = Player("{command}", time_control="1+0.03", options={{"Hash": 4}})
players = {{"one": e, "two": e}}
openings = Openings("{Path("controlfiles/openings.epd").resolve()}")
# Generous: a busy machine must not matter.
margin = 5
move_limit = 40
matchups = [Matchup("one", "two", number_of_games=2)]
""",
    )
    (matchup,) = shown(control)["matchups"]
    assert matchup["forfeits"] == [0, 0]
    assert sum(matchup["wins"]) + matchup["draws"] == 2


def test_gnugo_beats_the_go_engine_that_ships(tmp_path: Path) -> None:
    gnugo = engine("gnugo")
    control = play(
        tmp_path,
        f"""
competition_type = "playoff"
players = {{
    "gnugo": Player("{gnugo} {GNUGO} --level=1"),
    "demo": Player([{sys.executable!r}, "-m", "ringmaster.demo", "go"]),
}}
board_size = 9
komi = 7.5
scorer = "internal"
matchups = [Matchup("gnugo", "demo", number_of_games=2, alternating=True)]
""",
        "-j",
        "2",
    )
    (matchup,) = shown(control)["matchups"]
    assert matchup["wins"][0] == 2
    assert matchup["forfeits"] == [0, 0]
    assert alive("gnugo") == []


def test_wrong_option_of_a_real_engine_is_answered_with_the_nearest_names(tmp_path: Path) -> None:
    stockfish = engine("stockfish")
    control = tmp_path / "event.ctl"
    control.write_text(f"""
competition_type = "playoff"
game = "chess"
players = {{
    "a": Player("{stockfish}", nodes=1, options={{"Hassh": 16, "Threads": 0}}),
    "b": Player("{stockfish}", nodes=1),
}}
matchups = [Matchup("a", "b", number_of_games=2)]
""")
    done = run_ringmaster(control)
    assert done.returncode == 1
    assert "it has no option 'Hassh'; it has 'Hash'" in done.stderr
    assert "option 'Threads' cannot be 0; it takes an integer from 1 to 1024" in done.stderr
    assert not control.with_suffix(".status").exists()
