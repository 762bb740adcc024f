"""Transcripts of all games, and of games with a fault."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ringmaster.play.transcript import MAX_KEPT, GameTranscript
from ringmaster.play.worker import Worker
from tests.play.test_kept_engines import filler, play


@pytest.mark.slow
def test_only_games_with_a_fault_are_written_down(worker: Worker, tmp_path: Path) -> None:
    logs = {name: tmp_path / "logs" / name for name in ("good", "void", "forfeit")}
    sound = filler("a")
    play(worker, sound, filler("b"), log=logs["good"], of_faults=True)
    assert not logs["good"].parent.exists()
    result = play(
        worker, sound, filler("b", "--crash-on", "genmove"), log=logs["void"], of_faults=True
    )
    assert result.outcome == "void"
    result = play(
        worker, sound, filler("b", "--illegal-move", "1"), log=logs["forfeit"], of_faults=True
    )
    assert result.forfeit
    for name in ("void", "forfeit"):
        text = logs[name].read_text()
        assert re.search(r"^ +\d+\.\d{4} b > genmove w$", text, re.M)
        assert "not kept" not in text


@pytest.mark.slow
def test_transcript_of_a_fault_equals_the_full_one(worker: Worker, tmp_path: Path) -> None:
    texts = []
    for of_faults in (False, True):
        log = tmp_path / str(of_faults)
        play(worker, filler("a"), filler("b", "--illegal-move", "2"), log=log, of_faults=of_faults)
        texts.append(re.sub(r"(?m)^ +[\d.]+", "", log.read_text()))
    assert texts[0] == texts[1] != ""


def test_fault_that_cannot_be_written_down_costs_nothing_but_its_transcript(
    worker: Worker, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    log = tmp_path / "file" / "log"
    result = play(worker, filler("a"), filler("b", "--illegal-move", "1"), log=log, of_faults=True)
    assert result.reason == "illegal move"
    assert result.stderr[0][1].startswith("the transcript cannot be written: ")


def test_transcript_keeps_the_end_of_a_long_game_and_counts_the_rest(tmp_path: Path) -> None:
    transcript = GameTranscript(str(tmp_path / "log"), of_faults=True, most=10_000)
    for number in range(1000):
        transcript.note("a", "<", b"line %d\r\nand more" % number)
    transcript.want()
    transcript.close()
    first, *lines = (tmp_path / "log").read_text().splitlines()
    numbers = [int(line.split()[-1]) for line in lines if " line " in line]
    assert numbers == list(range(1000 - len(numbers), 1000))
    assert 30 < len(numbers) < 60
    assert f"({2000 - 2 * len(numbers)} lines are left out here)" in first


def test_file_of_a_flood_has_its_beginning_and_its_end(tmp_path: Path) -> None:
    transcript = GameTranscript(str(tmp_path / "log"), beginning=10_000)
    for number in range(100_000):
        transcript.note("a", "<", b"info string %d" % number)
    transcript.close()
    text = (tmp_path / "log").read_text()
    left_out = int(re.search(r"ringmaster ! \((\d+) lines are left out here\)", text)[1])
    numbers = [int(n) for n in re.findall(r"string (\d+)", text)]
    start = next(i for i, n in enumerate(numbers) if i != n)
    assert numbers == [*range(start), *range(100_000 - (len(numbers) - start), 100_000)]
    assert left_out == 100_000 - len(numbers)
    assert 10_000 < len(text) < 10_100 + MAX_KEPT


@pytest.mark.parametrize("line", [b"\n" * 60_000, b"\xff" * 60_000])
def test_flood_of_empty_lines_or_of_no_text_is_bounded_too(tmp_path: Path, line: bytes) -> None:
    transcript = GameTranscript(str(tmp_path / "log"), beginning=10_000)
    for _ in range(100):
        transcript.note("a", "<", line)
    transcript.close()
    assert (tmp_path / "log").stat().st_size < 2_000_000 + 4 * MAX_KEPT


def test_traffic_of_a_check_comes_first_in_the_transcript_of_the_game(tmp_path: Path) -> None:
    check = GameTranscript("", of_faults=True)
    game = GameTranscript(str(tmp_path / "g.log"))
    check.note("a", ">", b"uci")
    game.start = check.start
    check.pass_on(game, "b")
    game.note("b", ">", b"go nodes 1")
    game.close()
    lines = [line.split(None, 1) for line in (tmp_path / "g.log").read_text().splitlines()]
    assert [line[1] for line in lines] == ["b > uci", "b > go nodes 1"]
    assert 0 <= float(lines[0][0]) <= float(lines[1][0])


def test_transcript_has_no_character_that_a_terminal_obeys(tmp_path: Path) -> None:
    transcript = GameTranscript(str(tmp_path / "log"))
    transcript.note("a", "<", "id\tname \x1b[2J\0\x7f\x9b\u202e\r\nuciok".encode())
    transcript.close()
    first, second = (tmp_path / "log").read_text().split("\n")[:2]
    assert first.endswith(r"a < id\tname \x1b[2J\x00\x7f\xc2\x9b\xe2\x80\xae".replace(r"\t", "\t"))
    assert second.endswith("a < uciok")
