"""Shards of positions through a whole worker, with engines that score them as scripted."""

from __future__ import annotations

import os
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest

from ringmaster.errors import JobAbandoned
from ringmaster.model.jobs import EvaluationJob, GameSettings, ScoreKind
from ringmaster.model.players import Player
from ringmaster.model.results import EvaluationResult
from ringmaster.play.worker import Worker
from ringmaster.positions.position_file import COLUMNS
from tests.play.workers import one_worker
from tests.positions.writing import write_positions
from tests.processes import under

SCORED = Path(__file__).parent.parent / "engines" / "scored.py"
COUNT = 60
# The engine accepts any text as a board; some texts are EPD.
FENS = [
    f"k{n}/8/8/8/8/8/8/K7 {'wb'[n % 2]} - -" + ("" if n % 7 == 3 else f" {n} 1")
    for n in range(COUNT)
]


def expected(weight: int = 100) -> list[int]:
    return [(zlib.crc32(f.split()[0].encode()) % 1000 - 500) * weight // 100 for f in FENS]


def write(path: Path, texts: list[str], game: Any = "chess", key: str = "test") -> Path:
    labels = {name: np.zeros(len(texts)) for name in COLUMNS}
    write_positions(path, [text.encode() for text in texts], labels, game=game, key=key)
    return path


@pytest.fixture(scope="module")
def positions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("positions") / "positions", FENS)


def player(*flags: str, protocol: Any = "uci", **settings: Any) -> Player:
    command = (sys.executable, "-I", "-S", str(SCORED), *flags)
    return Player("e", command, protocol=protocol, **settings)


def job(positions: Path, *flags: str, **changes: Any) -> EvaluationJob:
    new_worker = EvaluationJob(
        "p0_s0",
        player(*flags),
        # a busy machine must not make an honest engine late
        GameSettings(game="chess", hang_timeout=20.0),
        str(positions),
        0,
        COUNT,
        score_key=3,
        shard=2,
        in_flight=16,
    )
    return msgspec.structs.replace(new_worker, **changes)


@pytest.fixture
def worker() -> Iterator[Worker]:
    with one_worker("scored.py") as new_worker:
        yield new_worker


def run(worker: Worker, new_worker: EvaluationJob) -> EvaluationResult:
    result = worker.run(new_worker)
    assert isinstance(result, EvaluationResult)
    assert (result.id, result.score_key, result.shard) == ("p0_s0", 3, 2)
    return result


def scores(result: EvaluationResult) -> list[float]:
    assert result.outcome == "evaluated", result.detail
    assert result.scores is not None
    return np.frombuffer(result.scores, "<f4").tolist()


@pytest.mark.parametrize("form", ["stockfish", "total", "glaurung", "yaneuraou"])
@pytest.mark.parametrize("in_flight", [1, 100])
def test_every_form_gives_the_scores_of_the_first_mover(
    worker: Worker, positions: Path, form: str, in_flight: int
) -> None:
    result = run(worker, job(positions, "--form", form, in_flight=in_flight))
    assert scores(result) == pytest.approx(expected(), abs=0.01)
    assert (result.positions, result.usage.name) == (COUNT, "scored")
    assert result.answers is None


@pytest.mark.parametrize("kind", ["depth", "nodes", "quiescence"])
def test_searches_give_them_too(worker: Worker, positions: Path, kind: Any) -> None:
    new_worker = job(positions, score=ScoreKind(kind, 0 if kind == "quiescence" else 2))
    assert scores(run(worker, new_worker)) == expected()


def test_scores_of_an_engine_that_speaks_for_its_opponent_are_turned(
    worker: Worker, positions: Path
) -> None:
    new_worker = job(positions, player=player(score_pov="opponent"), score=ScoreKind("depth", 1))
    assert scores(run(worker, new_worker)) == [-score for score in expected()]
    new_worker = job(positions, player=player(score_pov="black"), score=ScoreKind("depth", 1))
    # Scores for the mover pass for scores for White.
    black = [-s if n % 2 == 0 else s for n, s in enumerate(expected())]
    assert scores(run(worker, new_worker)) == black


def test_only_the_positions_of_the_shard_are_requested(worker: Worker, positions: Path) -> None:
    new_worker = job(positions, first=1, stop=COUNT, step=3)
    assert scores(run(worker, new_worker)) == expected()[1:COUNT:3]


def test_shogi_positions_are_scored_from_black(worker: Worker, tmp_path: Path) -> None:
    board = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL"
    texts = [f"{board} b - 1", f"{board} w - 2"]
    new_worker = job(
        write(tmp_path / "shogi", texts, "shogi"),
        player=player(protocol="usi"),
        settings=GameSettings(game="shogi"),
        stop=2,
        score=ScoreKind("depth", 1),
    )
    assert scores(run(worker, new_worker)) == [zlib.crc32(board.encode()) % 1000 - 500] * 2


def test_position_without_a_score_is_nan_and_no_other(worker: Worker, positions: Path) -> None:
    # One more request recognises the form.
    for new_worker in (
        job(positions, "--none-at", "9"),
        job(positions, "--none-at", "8", score=ScoreKind("depth", 1)),
    ):
        job_result = scores(run(worker, new_worker))
        assert [n for n, score in enumerate(job_result) if score != score] == [7]
        assert job_result[8:] == expected()[8:]


def test_other_options_go_to_the_same_process_but_not_where_a_new_one_is_needed(
    worker: Worker, positions: Path
) -> None:
    heavy = player(options={"Weight": 200})
    pids = []
    for who, apply, weight in (
        (player(), "live", 100),
        (heavy, "live", 200),
        (player(), "newgame", 100),
        (heavy, "restart", 200),
        (heavy, "restart", 200),
        (player(), "restart", 100),
    ):
        new_worker = job(positions, player=who, apply=apply)
        assert scores(run(worker, new_worker)) == pytest.approx(expected(weight), abs=0.01)
        pids += [process.pid for process in under("scored.py")]
    assert pids[0] == pids[1] == pids[2]
    assert pids[3] == pids[4]
    assert len(set(pids)) == 3


@pytest.mark.parametrize(
    ("flags", "apply"), [(["--drifts"], "live"), (["--drifts", "--never-clears"], "restart")]
)
def test_scores_of_a_search_do_not_depend_on_earlier_shards(
    worker: Worker, positions: Path, flags: list[str], apply: Any
) -> None:
    new_worker = job(positions, *flags, score=ScoreKind("depth", 1), apply=apply, in_flight=1)
    first = run(worker, new_worker)
    assert scores(first) == scores(run(worker, new_worker))


#: Whether the last request has been written by then is a matter of microseconds.
TOO_MANY = "it gave 61 answers to 60 requests | it gave 60 answers to 59 requests"


@pytest.mark.parametrize(
    ("flags", "reason", "phrases"),
    [
        (("--die-at", "50"), "crash", "exited with status 3; command 'eval', position 49 of 60"),
        (("--hang-at", "50"), "hang", "no answer in 0.5 s; command 'eval', position 49 of 60"),
        (("--flood-at", "5"), "hang", "no answer in 0.5 s"),
        (("--skip-at", "5"), "protocol", "a score for 59 of 60 positions"),
        (("--twice-at", "60"), "protocol", TOO_MANY),
        (("--garbage-at", "9"), "protocol", "'fine' for a score"),
        (("--infinite-at", "9"), "protocol", "inf for a score"),
        (("--form", "own"), "protocol", "'Total: "),
        (("--form", "silent"), "protocol", "is nothing at all"),
        (("--long-line", "3000000"), "protocol", "a line of more than"),
    ],
)
@pytest.mark.slow
def test_fault_is_a_void_result_with_reason_and_place(
    worker: Worker, positions: Path, flags: tuple[str, ...], reason: str, phrases: str
) -> None:
    impatient = GameSettings(game="chess", hang_timeout=0.5 if reason == "hang" else 20.0)
    result = run(worker, job(positions, *flags, settings=impatient))
    assert (result.outcome, result.reason, result.scores) == ("void", reason, None)
    assert any(words in result.detail for words in phrases.split(" | "))
    # and the next shard gets a new process
    assert scores(run(worker, job(positions))) == expected()


def test_search_without_end_gets_stop(worker: Worker, positions: Path) -> None:
    new_worker = job(positions, "--endless", "nodes", score=ScoreKind("nodes", 1))
    impatient = GameSettings(game="chess", hang_timeout=0.5)
    result = run(worker, msgspec.structs.replace(new_worker, in_flight=1, settings=impatient))
    assert (result.outcome, result.reason) == ("void", "hang")
    assert "it searched until 'stop'" in result.detail


def test_options_and_programs_that_are_not_there_are_void_results(
    worker: Worker, positions: Path
) -> None:
    result = run(worker, job(positions, player=player(options={"Wait": 1})))
    assert (result.outcome, result.reason) == ("void", "setup")
    assert "no option 'Wait'" in result.detail
    result = run(worker, job(positions, player=Player("e", ("/no/such",), protocol="uci")))
    assert (result.outcome, result.reason) == ("void", "start")


@pytest.mark.parametrize(("unit", "pov"), [(1.0, "first"), (2.0, "first"), (1.0, "mover")])
def test_form_of_ones_own_is_found_by_its_pattern(
    worker: Worker, positions: Path, unit: float, pov: Any
) -> None:
    kind = ScoreKind("eval", command="eval", pattern=r"Total: (\S+)", unit=unit, pov=pov)
    job_result = scores(run(worker, job(positions, "--form", "own", score=kind)))
    signs = [-1 if pov == "mover" and n % 2 else 1 for n in range(COUNT)]
    assert job_result == [unit * s * sign for s, sign in zip(expected(), signs, strict=True)]


def test_go_command_of_ones_own_is_a_search(worker: Worker, positions: Path) -> None:
    kind = ScoreKind("eval", command="go btime 0 wtime 0 byoyomi 100")
    assert scores(run(worker, job(positions, score=kind))) == expected()
    texts = run(worker, job(positions, score=kind, answers=True))
    assert scores(texts) == expected()
    assert texts.answers is not None
    assert texts.answers[0].endswith("bestmove a1a2\n")


def test_answers_are_returned_unchanged(worker: Worker, positions: Path) -> None:
    result = run(worker, job(positions, "--form", "own", answers=True))
    assert result.scores is None
    assert result.answers == tuple(f"depth: 3\nTotal: {s} cp\n" for s in expected())


def test_rebuilt_position_file_is_read_again(worker: Worker, tmp_path: Path) -> None:
    path = write(tmp_path / "p", FENS)
    assert scores(run(worker, job(path, stop=2))) == expected()[:2]
    write(path, FENS[10:])
    assert scores(run(worker, job(path, stop=2))) == expected()[10:12]
    result = run(worker, job(path, stop=60))
    assert (result.outcome, result.reason) == ("void", "setup")
    assert "50 positions" in result.detail


def test_positions_that_are_put_in_the_place_of_others_do_not_count(
    worker: Worker, tmp_path: Path
) -> None:
    path = write(tmp_path / "p", FENS)
    assert scores(run(worker, job(path, stop=2, key="test"))) == expected()[:2]
    # as `check` does beside a run, when the control file has been edited
    write(path, FENS[10:], key="edited")
    # whoever has the file goes on with it
    assert scores(run(worker, job(path, stop=2, key="test"))) == expected()[:2]
    assert scores(run(worker, job(path, stop=2, key="edited"))) == expected()[10:12]
    result = run(worker, job(path, stop=2, key="test"))
    assert (result.outcome, result.reason) == ("void", "setup")
    assert "rebuilt meanwhile" in result.detail


def test_missing_or_truncated_positions_are_a_message(worker: Worker, tmp_path: Path) -> None:
    path = write(tmp_path / "p", FENS)
    path.write_bytes(path.read_bytes()[:-200])
    result = run(worker, job(path))
    assert (result.outcome, result.reason) == ("void", "setup")
    assert result.detail.endswith("; delete it; the next run makes a new one")
    path.unlink()
    result = run(worker, job(path))
    assert (result.outcome, result.reason) == ("void", "setup")
    assert "No such file" in result.detail


def test_abandoned_job_leaves_at_once_and_no_engine_is_left(positions: Path) -> None:
    read_fd, write_fd = os.pipe()
    new_worker = Worker(
        SimpleNamespace(slot=0, control_fd=read_fd, reaper_fd=None, setup={}, say=print)
    )
    try:
        os.write(write_fd, b"x")
        settings = GameSettings(game="chess", hang_timeout=60)
        with pytest.raises(JobAbandoned):
            new_worker.run(job(positions, "--hang-at", "3", settings=settings))
    finally:
        new_worker.close()
        os.close(read_fd)
        os.close(write_fd)
    assert under("scored.py") == []


def test_transcript_is_written_when_there_is_a_fault(
    worker: Worker, positions: Path, tmp_path: Path
) -> None:
    path = tmp_path / "log" / "job"
    more: dict[str, Any] = {"transcript": str(path), "transcript_of_faults": True}
    run(worker, job(positions, **more))
    assert not path.exists()
    run(worker, job(positions, "--die-at", "9", **more))
    assert " e > position fen k0" in path.read_text()
