"""The record of a game in progress."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ringmaster.play.game_runner import GameRunner
from ringmaster.play.live_record import LiveRecord
from tests.play.scripted import Scripted, chess_player, job

WHITE, BLACK = chess_player("w"), chess_player("b")


class Watched(LiveRecord):
    """A live record that is due at every move and remembers its file after each."""

    def __init__(self, folder: Path) -> None:
        super().__init__(str(folder))
        self.seen: list[dict[str, str]] = []
        self.folder = folder

    def is_due(self) -> bool:
        return True

    def write(self, text: str) -> None:
        super().write(text)
        self.seen.append({path.name: path.read_text() for path in self.folder.iterdir()})


def play(live: LiveRecord, **settings: bool) -> None:
    engines = Scripted(WHITE, ["f2f3", "g2g4"]), Scripted(BLACK, ["e7e5", "d8h4"])
    GameRunner(job(WHITE, BLACK, **settings), engines, live=live).play()


def test_game_in_progress_has_a_record_with_its_moves_and_no_result(tmp_path: Path) -> None:
    live = Watched(tmp_path / "x.live")
    play(live)
    assert len(live.seen) == 4
    ((name, content),) = live.seen[2].items()
    assert name.endswith(".json")
    text = json.loads(content)["record"]
    assert json.loads(content)["players"] == ["w", "b"]
    assert "2. g4" in text
    assert "Qh4" not in text
    assert '[Result "*"]' in text


def test_record_is_gone_when_the_game_has_ended(tmp_path: Path) -> None:
    play(Watched(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_quick_game_writes_nothing(tmp_path: Path) -> None:
    play(LiveRecord(str(tmp_path / "x.live")))
    assert not (tmp_path / "x.live").exists()


def test_folder_that_cannot_be_written_does_not_hurt_the_game(tmp_path: Path) -> None:
    (tmp_path / "x.live").write_text("a file")
    live = LiveRecord(str(tmp_path / "x.live"))
    live.begin("1", ("w", "b"))
    live.write("text")
    live.end()
    assert (tmp_path / "x.live").read_text() == "a file"


@pytest.mark.parametrize("seconds", [0.5, 1.5])
def test_record_is_due_once_a_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    now = 100.0
    monkeypatch.setattr("ringmaster.play.live_record.time.monotonic", lambda: now)
    live = LiveRecord(str(tmp_path))
    live.begin("1", ("w", "b"))
    now += seconds
    assert live.is_due() is (seconds > 1)
    live.write("text")
    assert not live.is_due()
