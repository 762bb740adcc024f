"""Real engines ponder, over UCI and USI, and are measured while they do."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.program import shown
from tests.real.test_matches import alive, play, records
from tests.requirements import engine

pytestmark = pytest.mark.real


def commands(control: Path, word: str) -> Counter[str]:
    """Count, by player, the lines of the transcripts that begin with a word.

    Transcripts of a first game include the searches of the startup check, if there is one.
    """
    counts: Counter[str] = Counter()
    for path in control.with_suffix(".gtplogs").iterdir():
        for line in path.read_text().splitlines():
            match = re.match(r"\s*[\d.]+ (\S+) > " + word, line)
            if match:
                counts[match[1]] += 1
    return counts


def test_stockfish_and_ethereal_ponder_against_each_other(tmp_path: Path) -> None:
    stockfish, ethereal = engine("stockfish"), engine("ethereal-chess")
    control = play(
        tmp_path,
        f"""
competition_type = "playoff"
game = "chess"
players = {{
    "sf": Player("{stockfish}", time_control="2+0.03", ponder=True, options={{"Hash": 4}}),
    "et": Player("{ethereal}", time_control="2+0.03", ponder=True, options={{"Hash": 4}}),
}}
margin = 30
move_limit = 40
skip_player_checks = True
matchups = [Matchup("sf", "et", number_of_games=2)]
""",
        "--log-gtp",
    )
    games = records(control)
    assert len(games) == 2
    plies = sum(int(number) for game in games for number in re.findall(r'PlyCount "(.*)"', game))
    hits, misses = commands(control, "ponderhit"), commands(control, "stop")
    begun = commands(control, "go ponder")
    for code in ("sf", "et"):
        # in most of its own moves: half of all plies
        assert begun[code] > plies / 4
        assert hits[code] > 0
        # each is ended in one of two ways, unless its answer came too early
        assert 0.8 * begun[code] <= hits[code] + misses[code] <= begun[code]
    (matchup,) = shown(control)["matchups"]
    assert matchup["forfeits"] == [0, 0]
    assert alive("stockfish", "ethereal-chess") == []


@pytest.mark.parametrize(
    ("name", "threads"),
    [("glaurung", "Threads"), ("toga2", "Number of Threads")],
)
def test_one_side_ponders(tmp_path: Path, name: str, threads: str) -> None:
    path, stockfish = engine(name), engine("stockfish")
    control = play(
        tmp_path,
        f"""
competition_type = "playoff"
game = "chess"
players = {{
    "x": Player("{path}", time_control="1+0.05", ponder=True, options={{"{threads}": 1}}),
    "sf": Player("{stockfish}", time_control="1+0.05", options={{"Hash": 1}}),
}}
margin = 30
move_limit = 24
matchups = [Matchup("x", "sf", number_of_games=2)]
""",
        "--log-gtp",
    )
    assert len(records(control)) == 2
    assert set(commands(control, "go ponder")) == {"x"}
    assert shown(control)["matchups"][0]["forfeits"] == [0, 0]
    assert alive(name, "stockfish") == []
