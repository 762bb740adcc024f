"""`show --format`: results as fastchess and OpenBench print them.

The results are those of published matches; the numbers are ringmaster's own.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ringmaster
from ringmaster.cli import run
from ringmaster.model.results import GameResult
from tests.recorded import TUNE, recorded, ticket, won, write

PLAYERS = """competition_type = "{type}"
game = "chess"
players = {{
    "new": Player("./engine", options={{"Hash": 16, "Threads": 1}}, {limit}),
    "old": Player("./engine", options={{"Hash": 16, "Threads": 1}}, {limit}),
    "third": Player("./engine", nodes=5),
}}
openings = Openings("books/ops.epd")
"""
PLAYOFF = PLAYERS + 'number_of_games = None\nmatchups = [Matchup("new", "old"{sprt})]\n'
SPRT = ", sprt=SPRT(0, 5)"


def playoff(limit: str = 'time_control="4+0.04"', sprt: str = SPRT) -> str:
    return PLAYOFF.format(type="playoff", limit=limit, sprt=sprt)


def draw(game_id: str) -> GameResult:
    return won(game_id, None, outcome="draw", score="1/2-1/2", reason="repetition")


def games(
    penta: tuple[int, ...], split: int, matchup: str = "0"
) -> Iterator[tuple[dict[str, Any], GameResult]]:
    """Yield games with these pairs by the first player's points, `split` of them with two wins."""
    ll, ld, even, wd, ww = penta
    pairs = [("l", "l")] * ll + [("l", "d")] * ld + [("w", "l")] * split
    pairs += [("d", "d")] * (even - split) + [("w", "d")] * wd + [("w", "w")] * ww
    for pair, results in enumerate(pairs):
        for second, result in enumerate(results):
            number = 2 * pair + second
            name = f"{matchup}_{number}"
            winner = second if result == "w" else 1 - second
            each = draw(name) if result == "d" else won(name, winner)
            yield ticket(matchup, number, pair=pair), each


def block(
    folder: Path, capsys: pytest.CaptureFixture[str], source: str, played: Any, form: str
) -> str:
    control = recorded(write(folder, source), played)
    assert run([str(control), "show", "--format", form]) == 0
    return capsys.readouterr().out


@pytest.mark.slow
def test_block_of_fastchess_has_the_words_of_fastchess(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert block(
        tmp_path, capsys, playoff(), games((36, 106, 192, 115, 51), 128), "fastchess"
    ).splitlines() == [
        "-" * 50,
        "Results of new vs old (4+0.04, 1t, 16MB, ops.epd):",
        "Elo: 13.56 +/- 16.24, nElo: 18.01 +/- 21.56",
        "LOS: 94.94 %, DrawRatio: 38.40 %, PairsRatio: 1.17",
        "Games: 1000, Wins: 345, Losses: 306, Draws: 349, Points: 519.5 (51.95 %)",
        "Ptnml(0-2): [36, 106, 192, 115, 51], WL/DD Ratio: 2.00",
        "LLR: 0.64 (21.8%) (-2.94, 2.94) [0.00, 5.00]",
        "-" * 50,
    ]


@pytest.mark.slow
def test_block_of_openbench_has_the_words_of_openbench(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = playoff('time_control="40+0.4"').replace('"Hash": 16', '"Hash": 64')
    played = games((13, 438, 953, 554, 17), 511)
    assert block(tmp_path, capsys, source, played, "openbench").splitlines() == [
        "Elo   | 10.91 +- 5.73 (95%)",
        "SPRT  | 40.0+0.40s Threads=1 Hash=64MB",
        "LLR   | 2.95 (-2.94, 2.94) [0.00, 5.00]",
        "Games | N: 3950 W: 1099 L: 975 D: 1876",
        "Penta | [13, 438, 953, 554, 17]",
    ]


@pytest.mark.parametrize(
    ("penta", "split", "nelo", "ratio"),
    [
        ((1, 3, 32, 87, 164), 27, "463.88 +/- 70.69", "62.75"),
        ((0, 0, 8, 0, 0), 4, "nan +/- nan", "nan"),
        ((0, 0, 0, 0, 74), 0, "nan +/- nan", "inf"),
    ],
)
def test_blocks_have_the_elo_of_the_matchup(
    penta: tuple[int, ...],
    split: int,
    nelo: str,
    ratio: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = block(tmp_path, capsys, playoff(sprt=""), games(penta, split), "fastchess")
    match = ringmaster.load(tmp_path / "event.ctl").matchups["0"]
    assert match.elo is not None
    assert text.splitlines()[2:4] == [
        f"Elo: {match.elo.elo:.2f} +/- {match.elo.error:.2f}, nElo: {nelo}",
        f"LOS: {100 * match.elo.los:.2f} %, DrawRatio: {100 * penta[2] / sum(penta):.2f} %, "
        f"PairsRatio: {ratio}",
    ]
    assert "-0.00" not in text
    assert run([str(tmp_path / "event.ctl"), "show", "--format", "openbench"]) == 0
    assert capsys.readouterr().out.startswith(
        f"Elo   | {match.elo.elo:.2f} +- {match.elo.error:.2f} (95%)\nConf  | "
    )


def test_half_a_pair_is_not_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    played = itertools.islice(games((1, 1, 1, 1, 1), 0), 9)
    text = block(tmp_path, capsys, playoff(sprt=""), played, "openbench")
    assert "Games | N: 8 W: 1 L: 3 D: 4\nPenta | [1, 1, 1, 1, 0]\n" in text


def test_match_without_pairs_has_no_pentanomial(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    played = [(ticket(number=i), won(f"0_{i}", i % 3 == 0)) for i in range(9)]
    source = playoff("depth=6", ", alternating=False")
    lines = block(tmp_path, capsys, source, played, "fastchess").splitlines()
    assert lines[1] == "Results of new vs old (6 plies, 1t, 16MB, ops.epd):"
    # fixed colours do not measure strength
    assert lines[2:5] == [
        "Elo: nan +/- nan, nElo: nan +/- nan",
        "LOS: nan %, DrawRatio: 0.00 %",
        "Games: 9, Wins: 6, Losses: 3, Draws: 0, Points: 6.0 (66.67 %)",
    ]
    assert len(lines) == 6


@pytest.mark.parametrize(
    ("limit", "fastchess", "openbench"),
    [
        ('time_control="40/60+0.5"', "40/60+0.5", "40/60.0+0.50s"),
        ("nodes=25000", "25000 nodes", "N=25000"),
        ("move_time=0.1", "0.1/move", "MT=100"),
    ],
)
def test_limits_are_written_as_the_programs_write_them(
    limit: str,
    fastchess: str,
    openbench: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    source = playoff(limit, "")
    text = block(tmp_path, capsys, source, games((0, 0, 1, 0, 0), 0), "fastchess")
    assert f"Results of new vs old ({fastchess}, 1t, 16MB, ops.epd):" in text
    assert run([str(tmp_path / "event.ctl"), "show", "--format", "openbench"]) == 0
    assert f"Conf  | {openbench} Threads=1 Hash=16MB\n" in capsys.readouterr().out


def test_tournament_has_a_block_for_each_pairing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = PLAYERS.format(type="allplayall", limit="nodes=1")
    source += 'competitors = ["new", "old", "third"]\nrounds = 20\n'
    played = [*games((1, 3, 4, 1, 4), 0, "AvB"), *games((0, 0, 2, 0, 0), 0, "AvC")]
    text = block(tmp_path, capsys, source, played, "fastchess")
    assert [line for line in text.splitlines() if line.startswith("Results of ")] == [
        "Results of new vs old (1 nodes, 1t, 16MB, ops.epd):",
        "Results of new vs third (1 nodes - 5 nodes, 1t - NULL, 16MB - NULL, ops.epd):",
        "Results of old vs third (1 nodes - 5 nodes, 1t - NULL, 16MB - NULL, ops.epd):",
    ]


def test_closing_match_has_its_own_limits_and_openings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = TUNE + 'verify = Verify(games=4, nodes=9, openings=Openings("close.epd"))\n'
    closing = [{"kind": "closing", "v": 1, "g": game} for game in range(2)]
    played = zip(closing, (won(f"verify1_{game}", game) for game in range(2)), strict=True)
    text = block(tmp_path, capsys, source, played, "fastchess")
    assert "Results of e:tuned vs e:start (9 nodes, NULL, NULL, close.epd):" in text


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        (playoff(), ["--format", "cutechess"], "show has no format 'cutechess'; expected"),
        (playoff(), ["--format", "fastchess", "--json"], "show prints either --json or a --format"),
        (TUNE, ["--format", "fastchess"], "it has no closing match yet"),
    ],
)
def test_wrong_formats_are_answered(
    source: str,
    options: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run([str(write(tmp_path, source)), "show", *options]) == 2
    assert message in capsys.readouterr().err
