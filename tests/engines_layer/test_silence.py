"""An engine that does not answer at its start is reported while it is waited for; one that exits
is reported with its output."""

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


USAGE = "echo 'usage: engine [FLAG]...'; echo '  --no-answer  {0}'; printf '  --help'; exit 2"


@pytest.mark.parametrize("kind", [UciEngine, UsiEngine, GtpEngine])
@pytest.mark.parametrize("script", [USAGE, f"read word; {USAGE}"], ids=["at once", "when asked"])
@pytest.mark.parametrize("is_early", [True, False])
def test_usage_on_standard_output_is_shown_when_the_engine_exits_at_once(
    kind: type[Engine], script: str, is_early: bool
) -> None:
    engine = shell(kind, script, None)
    if is_early:
        engine.start_early()
    with pytest.raises(EngineNotStarted) as error:
        engine.launch(timeout=60)
    assert str(error.value).endswith(
        "\nits output:\nusage: engine [FLAG]...\n  --no-answer  {0}\n  --help"
    )


def test_long_output_of_an_engine_that_exits_at_once_is_cut() -> None:
    engine = shell(UciEngine, "seq 100000; echo failure >&2; exit 1", None)
    with pytest.raises(EngineNotStarted) as error:
        engine.launch(timeout=60)
    first, numbers = str(error.value).split("\nits output:\n")
    assert first.startswith("it exited with status 1")
    assert numbers == "\n".join(map(str, range(1, 21))) + "\nits last words:\nfailure"


def test_output_of_an_engine_that_lives_on_is_not_shown() -> None:
    engine = shell(GtpEngine, "echo ready; cat > /dev/null", None)
    with pytest.raises(EngineNotStarted, match="'ready'") as error:
        engine.launch(timeout=60)
    assert "its output" not in str(error.value)
