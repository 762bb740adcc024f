"""Scores out of the engines that Debian has: what a probe finds of each, and that a
position with its colours swapped has the opposite score."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import chess
import numpy as np
import pytest

from ringmaster.model.jobs import EvaluationJob, GameSettings, Probe, ScoreKind
from ringmaster.model.players import Player
from ringmaster.model.results import EvaluationResult
from ringmaster.play.worker import Worker
from tests.play.test_evaluation import worker, write
from tests.requirements import engine

pytestmark = pytest.mark.real

__all__ = ["worker"]

EVAL, DEPTH = ScoreKind(), ScoreKind("depth", 1)
OPENINGS = Path(__file__).parent.parent.parent / "controlfiles"

_BOOK = [
    " ".join(line.split()[:4]) + " 0 1"
    for line in (OPENINGS / "openings.epd").read_text(encoding="ascii").splitlines()[:10]
]
#: Of openings, and the same with a knight for the queen of Black's.
CHESS = [*_BOOK, *(fen.replace("q", "n", 1) for fen in _BOOK)]
START = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL"
SHOGI = [
    f"{START} b - 1",
    f"{START.replace('1r5b1', '7b1')} b R 1",
    f"{START} w - 2",
    f"{START.replace('1B5R1', '1B7')} b r 1",
    "lnsgkgsnl/1r5b1/p1ppppppp/1p7/9/2P6/PP1PPPPPP/1B5R1/LNSGKGSNL b - 3",
    "lnsgkgsnl/1r5+B1/pppppp1pp/6p2/9/2P6/PP1PPPPPP/7R1/LNSGKGSNL w B 4",
]


def _clean(fen: str) -> str:
    return chess.Board(fen).fen()


def mirrored(fen: str) -> str:
    return chess.Board(fen).mirror().fen()


def turned_round(sfen: str) -> str:
    """Return a shogi position with the sides exchanged."""
    board, side, hands, number = sfen.split()
    pieces: list[str] = []
    for rank in board.split("/"):
        cells: list[str] = []
        for c in rank:
            if cells and cells[-1] == "+":
                cells[-1] += c
            else:
                cells.append(c)
        pieces.append("".join(cell.swapcase() for cell in reversed(cells)))
    swapped = hands.swapcase()
    hands = "".join(sorted(swapped, key=str.islower))
    return f"{'/'.join(reversed(pieces))} {'w' if side == 'b' else 'b'} {hands} {number}"


def player(name: str, *words: str, protocol: Any = "uci", **options: Any) -> Player:
    return Player(name, (engine(name), *words), protocol=protocol, options=options)


def ask(
    worker: Worker, path: Path, who: Player, score: ScoreKind, count: int, **more: Any
) -> EvaluationResult:
    game: Any = "shogi" if who.protocol == "usi" else "chess"
    settings = GameSettings(game=game, hang_timeout=20.0)
    done = EvaluationJob("p", who, settings, str(path), 0, count, score=score, **more)
    result = worker.run(done)
    assert isinstance(result, EvaluationResult)
    return result


def facts(worker: Worker, path: Path, who: Player, score: ScoreKind, *changed: Player) -> Any:
    result = ask(worker, path, who, score, len(CHESS), probe=Probe(changed))
    return result.facts


@pytest.fixture(scope="module")
def chess_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(
        tmp_path_factory.mktemp("chess") / "p",
        [f(fen) for f in (_clean, mirrored) for fen in CHESS],
    )


@pytest.fixture(scope="module")
def shogi_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    texts = SHOGI + [turned_round(s) for s in SHOGI]
    return write(tmp_path_factory.mktemp("shogi") / "p", texts, "shogi")


@pytest.mark.parametrize(
    ("name", "words", "options", "score", "tolerance"),
    [
        ("stockfish", (), {"Use NNUE": False}, EVAL, 1.0),
        ("stockfish", (), {"Use NNUE": False}, DEPTH, None),
        # it rounds to four of its units
        ("glaurung", (), {}, EVAL, 2.0),
        ("fairy-stockfish", (), {}, EVAL, 1.0),
        ("ethereal-chess", (), {}, DEPTH, None),
        ("toga2", (), {"OwnBook": False}, DEPTH, None),
        ("gnuchess", ("--uci",), {"OwnBook": False}, DEPTH, None),
    ],
)
def test_position_with_its_colours_swapped_has_the_opposite_score(
    worker: Worker,
    chess_file: Path,
    name: str,
    words: tuple[str, ...],
    options: dict[str, Any],
    score: ScoreKind,
    tolerance: float | None,
) -> None:
    result = ask(worker, chess_file, player(name, *words, **options), score, 2 * len(CHESS))
    assert result.scores is not None, result.detail
    one, other = np.frombuffer(result.scores, "<f4").reshape(2, -1)
    there = ~np.isnan(one)
    assert there.sum() > len(CHESS) / 2
    if tolerance is not None:
        assert np.abs(one + other)[there].max() <= tolerance
    else:
        # a search may take the moves of the other side in another order
        assert np.corrcoef(one, -other)[0, 1] > 0.7


@pytest.mark.parametrize("score", [EVAL, DEPTH])
def test_shogi_position_turned_round_has_the_opposite_score_but_for_a_constant(
    worker: Worker, shogi_file: Path, score: ScoreKind
) -> None:
    who = player("fairy-stockfish", protocol="usi")
    result = ask(worker, shogi_file, who, score, 2 * len(SHOGI))
    assert result.scores is not None, result.detail
    one, other = np.frombuffer(result.scores, "<f4").reshape(2, -1)
    # Fairy-Stockfish 11 gives Black some 180 centipawns in every position
    assert np.abs(one + other - np.nanmedian(one + other))[~np.isnan(one)].max() <= 100
    # a rook more in hand, and one less
    assert one[1] > 300 > -300 > one[3]


def test_stockfish_takes_values_at_once_and_bears_64_requests(
    worker: Worker, chess_file: Path
) -> None:
    base = {"Use NNUE": False}
    report = facts(
        worker,
        chess_file,
        player("stockfish", **base),
        EVAL,
        player("stockfish", **{"Use NNUE": True}),
        player("stockfish", **base, Hash=1),
    )
    assert report["problem"] == ""
    assert (report["apply"], report["in_flight"]) == ("live", 64)
    assert (report["moved"], report["repeatable"]) == ([True, False], True)


def test_glaurung_takes_values_at_once(worker: Worker, chess_file: Path) -> None:
    changed = player("glaurung", **{"Mobility (Middle Game)": 200})
    report = facts(worker, chess_file, player("glaurung"), EVAL, changed)
    assert report["problem"] == ""
    assert (report["in_flight"], report["moved"], report["repeatable"]) == (64, [True], True)


def test_glaurung_uses_its_options_for_every_kind_of_score(
    worker: Worker, chess_file: Path
) -> None:
    score = ScoreKind(command="eval", pattern=r"Full eval: (\S+)", unit=100 / 204)
    changed = player("glaurung", **{"Mobility (Middle Game)": 200})
    report = facts(worker, chess_file, player("glaurung"), score, changed)
    assert (report["problem"], report["moved"]) == ("", [True])


@pytest.mark.parametrize(
    ("name", "words", "options", "change", "apply"),
    [
        ("ethereal-chess", (), {}, {"ContemptDrawPenalty": 200}, "restart"),
        # some of its tables outlive a new game, with scores of the old weights
        ("toga2", (), {"OwnBook": False}, {"Material": 200}, "restart"),
        # its weights are read when it starts
        ("gnuchess", ("--uci",), {"OwnBook": False}, {"Material": 200}, "restart"),
    ],
)
def test_engines_that_only_search_are_asked_one_at_a_time(
    worker: Worker,
    chess_file: Path,
    name: str,
    words: tuple[str, ...],
    options: dict[str, Any],
    change: dict[str, Any],
    apply: str,
) -> None:
    changed = player(name, *words, **options, **change)
    report = facts(worker, chess_file, player(name, *words, **options), DEPTH, changed)
    assert report["problem"] == ""
    assert (report["in_flight"], report["apply"], report["moved"]) == (1, apply, [True])
    assert report["repeatable"]


@pytest.mark.parametrize("name", ["stockfish", "ethereal-chess"])
def test_no_search_of_depth_0_is_taken_for_a_quiescence_search(
    worker: Worker, chess_file: Path, name: str
) -> None:
    report = facts(worker, chess_file, player(name), ScoreKind("quiescence"))
    assert 'score = "depth 1"' in report["problem"]


def test_toga_that_never_ends_a_search_of_one_node_is_refused(
    worker: Worker, chess_file: Path
) -> None:
    report = facts(worker, chess_file, player("toga2"), ScoreKind("nodes", 1))
    assert "it searched until 'stop'" in report["problem"]


def test_gpsusi_is_refused_what_kills_it_and_told_what_does(
    worker: Worker, shogi_file: Path
) -> None:
    who = player("gpsusi", protocol="usi", LimitDepth=4, BookDepth=0)
    command = "go btime 0 wtime 0 byoyomi 10000"
    result = ask(worker, shogi_file, who, DEPTH, 2, probe=Probe(()))
    assert f'Score(command="{command}")' in result.facts["problem"]
    result = ask(worker, shogi_file, who, ScoreKind("eval", command=command), 2)
    assert result.scores is not None, result.detail
    one, other = np.frombuffer(result.scores, "<f4")
    assert other > one


def test_search_of_glaurung_gets_new_processes_and_repeats_its_scores(
    worker: Worker, chess_file: Path
) -> None:
    changed = player("glaurung", **{"Mobility (Middle Game)": 200})
    report = facts(worker, chess_file, player("glaurung"), ScoreKind("depth", 2), changed)
    assert (report["problem"], report["apply"], report["repeatable"]) == ("", "restart", True)
    first, second = (
        ask(worker, chess_file, player("glaurung"), ScoreKind("depth", 2), 20, apply="restart")
        for _ in range(2)
    )
    assert first.scores == second.scores is not None
