"""GNU Go with what goes beyond Gomill: clocks, superko, a process that
lives from game to game."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from sgfmill import sgf

from tests.program import shown
from tests.real.test_matches import GNUGO, play, records
from tests.requirements import engine

pytestmark = pytest.mark.real


def event(tmp_path: Path, players: str, matchups: str, *, board_size: int = 9) -> Path:
    return play(
        tmp_path,
        f"""
competition_type = "playoff"
gnugo = "{engine("gnugo")} {GNUGO} --level=1"
players = {{{players}}}
board_size = {board_size}
komi = 6.5
scorer = "internal"
matchups = [{matchups}]
""",
        "-j",
        "2",
        "--log-gtp",
    )


def games(control: Path) -> list[sgf.Sgf_game]:
    return [sgf.Sgf_game.from_string(text) for text in records(control)]


def sent(control: Path, game: str, player: str) -> list[str]:
    """Return the commands that a player got in a game."""
    log = (control.with_suffix(".gtplogs") / f"{game}.log").read_text()
    return re.findall(rf"^ *[\d.]+ {player} > (.*)$", log, re.MULTILINE)


@pytest.mark.parametrize(
    ("clock", "settings", "overtime"),
    [
        ("5+90/10", "time_settings 5 10 90", "90/10 Canadian"),
        ("90", "time_settings 90 0 0", None),
    ],
)
def test_gnugo_plays_on_a_clock(
    tmp_path: Path, clock: str, settings: str, overtime: str | None
) -> None:
    control = event(
        tmp_path,
        f'"a": Player(gnugo, time_control="{clock}"), "b": Player(gnugo, time_control="{clock}")',
        'Matchup("a", "b", number_of_games=2, alternating=True)',
        board_size=7,
    )
    (matchup,) = shown(control)["matchups"]
    assert matchup["forfeits"] == [0, 0]
    for game in games(control):
        root = game.get_root()
        assert (root.get("OT") if root.has_property("OT") else None) == overtime
        first, *_ = game.get_main_sequence()[1:]
        assert 0 <= first.get("BL") <= root.get("TM")
    lines = sent(control, "0_0", "a")
    assert settings in lines
    assert lines[lines.index("genmove b") - 2].startswith("time_left b ")


def test_byo_yomi_that_gnugo_does_not_know_is_named_by_the_check(tmp_path: Path) -> None:
    from tests.program import ringmaster

    control = tmp_path / "event.ctl"
    control.write_text(f"""
competition_type = "playoff"
gnugo = "{engine("gnugo")} {GNUGO}"
players = {{"a": Player(gnugo, time_control="600+5x30"), "b": Player(gnugo, time_control="9+1")}}
board_size, komi = 9, 6.5
matchups = [Matchup("a", "b")]
""")
    done = ringmaster(control)
    assert done.returncode == 1
    assert "its time control 600+5x30 needs the command kgs-time_settings" in done.stderr
    assert "its time control 9+1 has an increment" in done.stderr


def test_games_under_superko_are_scored(tmp_path: Path) -> None:
    control = event(
        tmp_path,
        '"a": Player(gnugo, restart="off"), "b": Player(gnugo)',
        'Matchup("a", "b", number_of_games=2, alternating=True, rules=Rules(ko="positional"))',
    )
    assert [game.get_root().get("RE")[1] for game in games(control)] == ["+", "+"]


def test_reused_gnugo_is_prepared_again_and_its_cpu_time_is_the_games(tmp_path: Path) -> None:
    control = event(
        tmp_path,
        '"a": Player(gnugo, restart="off", gtp_aliases={"gomill-cpu_time": "cputime"}), '
        '"b": Player(gnugo)',
        'Matchup("a", "b", number_of_games=4)',
    )
    sent_lines = [sent(control, f"0_{number}", "a") for number in range(4)]
    # two workers have started one each
    assert 1 <= sum("list_commands" in lines for lines in sent_lines) <= 2
    for lines in sent_lines:
        begin = lines.index("boardsize 9")
        assert lines[begin : begin + 3] == ["boardsize 9", "clear_board", "komi 6.5"]
        # before the game too, where the process is a kept one
        assert lines.count("cputime") == (1 if "list_commands" in lines else 2)
    cpu = [
        float(match[1])
        for text in records(control)
        if (match := re.search(r"Black cpu time: ([\d.]+)s", text))
    ]
    assert len(cpu) == 4
    # the last game's is not the sum of all
    assert cpu[-1] < 0.7 * sum(cpu)


def test_handicap_of_either_style_is_played_on_19x19(tmp_path: Path) -> None:
    control = event(
        tmp_path,
        '"a": Player(gnugo), "b": Player(gnugo)',
        'Matchup("a", "b", handicap=9, number_of_games=1, move_limit=6), '
        'Matchup("a", "b", handicap=9, handicap_style="free", number_of_games=1, move_limit=6)',
        board_size=19,
    )
    for game in games(control):
        assert game.get_handicap() == 9
        assert len(game.get_root().get_setup_stones()[0]) == 9
        assert game.get_main_sequence()[1].get_move()[0] == "w"
        assert game.get_root().get("RE") == "Void"
