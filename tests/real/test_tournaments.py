"""GNU Go in tournaments: colours and players agree with the grid."""

from __future__ import annotations

from pathlib import Path

import pytest
from sgfmill import sgf

from tests.program import ringmaster, shown
from tests.requirements import engine

pytestmark = pytest.mark.real

GNUGO = "--mode=gtp --chinese-rules --capture-all-dead --level=1"


def test_grid_agrees_with_the_game_records(tmp_path: Path) -> None:
    gnugo = engine("gnugo")
    control = tmp_path / "event.ctl"
    control.write_text(f"""
competition_type = "allplayall"
players = {{code: Player("{gnugo} {GNUGO}", sgf_player_name_from_gtp=False)
           for code in ("x", "y", "z")}}
competitors = ["x", "y", "z"]
rounds = 4
board_size = 7
komi = 9
scorer = "internal"
""")
    done = ringmaster(control, "-j", "2")
    assert (done.returncode, done.stderr) == (0, "")
    summary = shown(control)
    points = {(a, b): 0.0 for a in "xyz" for b in "xyz"}
    for path in control.with_suffix(".games").iterdir():
        root = sgf.Sgf_game.from_string(path.read_text()).root
        black, white = root.get("PB"), root.get("PW")
        # the first of the pairing has Black in even rounds
        assert (black > white) == int(path.stem.split("_")[1]) % 2
        result = root.get("RE")
        half = 0.5 if result == "0" else 0.0
        points[black, white] += half or result.startswith("B+")
        points[white, black] += half or result.startswith("W+")
    assert summary["grid"]["points"] == [
        [None if a == b else points[a, b] for b in "xyz"] for a in "xyz"
    ]
    assert sum(points.values()) == 12
    assert [matchup["forfeits"] for matchup in summary["matchups"]] == [[0, 0]] * 3


def test_gnugo_plays_itself_under_two_codes(tmp_path: Path) -> None:
    gnugo = engine("gnugo")
    control = tmp_path / "event.ctl"
    control.write_text(f"""
competition_type = "playoff"
players = {{"g": Player("{gnugo} {GNUGO}", sgf_player_name_from_gtp=False)}}
board_size = 7
komi = 9
matchups = [Matchup("g", "g", alternating=True, number_of_games=2)]
""")
    done = ringmaster(control)
    assert (done.returncode, done.stderr) == (0, "")
    records = sorted(control.with_suffix(".games").iterdir())
    roots = [sgf.Sgf_game.from_string(path.read_text()).root for path in records]
    assert [(root.get("PB"), root.get("PW")) for root in roots] == [("g", "g#2"), ("g#2", "g")]


def test_three_openings_at_fixed_nodes_are_six_games_and_the_verdict_says_so(
    tmp_path: Path,
) -> None:
    stockfish = engine("stockfish")
    (tmp_path / "book.epd").write_text(
        "".join(
            f"rnbqkbnr/pppppppp/8/8/{fourth}/8/{second}/RNBQKBNR b KQkq -\n"
            for fourth, second in (("4P3", "PPPP1PPP"), ("3P4", "PPP1PPPP"), ("2P5", "PP1PPPPP"))
        )
    )
    control = tmp_path / "event.ctl"
    control.write_text(f"""
competition_type = "playoff"
game = "chess"
players = {{"new": Player("{stockfish}", nodes=2000, options={{"Hash": 8}}),
           "old": Player("{stockfish}", nodes=200)}}
openings = Openings("book.epd")
matchups = [Matchup("new", "old", sprt=SPRT(0, 200), number_of_games=100)]
""")
    first = ringmaster(control, "-g", "7")
    assert "3 openings with both colours make 6 different games, and 100 may be" in first.stderr
    assert ringmaster(control, "-j", "2").returncode == 0
    summary = shown(control)
    (matchup,) = summary["matchups"]
    games = matchup["games"]
    assert (matchup["sprt"]["accepted"], matchup["repeats"]) == ("H1", games - 6)
    output = f"{games - 6} of {games} games repeat an earlier one, move for move"
    assert output in control.with_suffix(".report").read_text()
    new, old = summary["conditions"]["players"]
    assert new["engine"].startswith("Stockfish ")
    assert (new["hash"], old["hash"], old["threads"]) == (8, 16, 1)
