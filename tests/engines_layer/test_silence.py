"""An engine that does not answer at its start is reported while it is waited for."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ringmaster.engines.engine import Engine
from ringmaster.engines.gtp import GtpEngine
from ringmaster.engines.process import Surroundings
from ringmaster.engines.uci import UciEngine, UsiEngine
from ringmaster.errors import EngineNotStarted
from ringmaster.model.jobs import GameSettings
from ringmaster.model.players import Player


@pytest.fixture(autouse=True)
def _short_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ringmaster.engines.engine.SILENCE", 0.02)


def shell(kind: type[Engine], script: str, say: Callable[[str], None] | None) -> Engine:
    return kind(Player("x", ("sh", "-c", script)), Surroundings({}, say=say))


@pytest.mark.parametrize(
    ("kind", "request_"),
    [(UciEngine, "uci"), (UsiEngine, "usi"), (GtpEngine, "protocol_version")],
)
def test_silent_engine_is_reported_once_with_its_request_and_its_time(
    kind: type[Engine], request_: str
) -> None:
    said: list[str] = []
    engine = shell(kind, "cat > /dev/null", said.append)
    with pytest.raises(EngineNotStarted, match=rf"no answer to '{request_}' in 0\.1 s"):
        engine.launch(timeout=0.1)
    assert said == [
        f"player 'x' (sh) has not answered '{request_}' for 0.02 s; waiting up to 0.1 s"
    ]


def test_engine_that_answers_after_the_report_is_ready_to_play(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)

    def release(text: str) -> None:
        said.append(text)
        fifo.write_text("go on\n")

    said: list[str] = []
    late = f"read word; cat '{fifo}' > /dev/null; echo id name Late; echo uciok; "
    ready = f"read word; read word; cat '{fifo}' > /dev/null; echo readyok; cat > /dev/null"
    engine = shell(UciEngine, late + ready, release)
    try:
        engine.launch(timeout=60)
        assert engine.name == "Late"
        assert engine.check(GameSettings(game="chess")) == []
    finally:
        engine.end(0)
    assert ["'uci'" in said[0], "'isready'" in said[1], len(said)] == [True, True, 2]
