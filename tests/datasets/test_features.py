from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ringmaster.datasets.boards import position_keys
from ringmaster.datasets.feature_set import Features
from ringmaster.errors import DataFileError, StoreCorrupt
from ringmaster.positions import FeatureFile, PositionFile
from tests.positions.writing import write_positions

START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
E4 = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1"
ENDING = "8/8/4k3/8/8/4K3/4P3/8 w - - 0 50"
ROOK = "8/8/4k3/8/8/4K3/4R3/8 b - - 4 60"
TEXTS = (START, E4, ENDING, ROOK)
COUNTS = {START: (0, 0, 1.0), E4: (0, 0, 1.0), ENDING: (1, 0, 0.0), ROOK: (0, -1, 0.25)}
NAMES = ("pawn", "rook")


@pytest.fixture
def positions(tmp_path: Path) -> PositionFile:
    return position_file(tmp_path / "positions", TEXTS)


def position_file(path: Path, texts: tuple[str, ...]) -> PositionFile:
    labels = {
        name: np.zeros(len(texts), dtype=np.float32)
        for name in ("result", "teacher", "weight", "progress", "group", "ply")
    }
    write_positions(path, [text.encode() for text in texts], labels, key="of these")
    return PositionFile(path)


def dense(file: FeatureFile) -> list[list[float]]:
    features = np.zeros((len(file), len(file.names)))
    for i in range(len(file)):
        a, b = int(file.indptr[i]), int(file.indptr[i + 1])
        features[i, file.columns[a:b]] = file.values[a:b]
    return [[float(v) for v in row] for row in features]


EXPECTED = [[float(v) for v in COUNTS[text][:2]] for text in TEXTS]
PHASES = [COUNTS[text][2] for text in TEXTS]


class Builder:
    """`Features` with the common arguments of the tests."""

    def __init__(self, positions: PositionFile, folder: Path) -> None:
        self.positions, self.target = positions, folder / "tune.features"
        self.messages: list[str] = []

    def __call__(self, source: Any, **arguments: Any) -> FeatureFile:
        given: dict[str, Any] = {"names": NAMES, "phase": True} | arguments
        names = given.pop("names")
        features = Features(source, self.positions, names, self.target, **given)
        return features.existing() or features.build(self.messages.append)


@pytest.fixture
def make(positions: PositionFile, tmp_path: Path) -> Builder:
    return Builder(positions, tmp_path)


def check(features: FeatureFile) -> None:
    assert features.names == NAMES
    assert dense(features) == EXPECTED
    assert features.phase is not None
    assert features.phase.tolist() == PHASES


def as_mapping(position: str) -> dict[str, float]:
    pawn, rook, phase = COUNTS[position]
    return {"pawn": pawn, "rook": rook, "phase": phase}


@pytest.mark.parametrize(
    "function", [as_mapping, COUNTS.__getitem__, lambda text: np.array(COUNTS[text])]
)
def test_function_of_the_position_gives_a_mapping_or_numbers(
    make: Builder, function: Callable[[str], Any]
) -> None:
    check(make(function))


def csv_text(texts: tuple[str, ...] = TEXTS) -> str:
    lines = ["rook,fen,phase,pawn"]
    lines += [f'{COUNTS[t][1]},"{t}",{COUNTS[t][2]},{COUNTS[t][0]}' for t in texts]
    return "\n".join(lines) + "\n"


def test_csv_is_matched_by_position_in_any_order(make: Builder, tmp_path: Path) -> None:
    path = tmp_path / "features.csv"
    path.write_text(csv_text((ROOK, START, ENDING, E4)))
    check(make(path))


def test_a_compressed_csv_with_semicolons_is_read(make: Builder, tmp_path: Path) -> None:
    path = tmp_path / "features.csv.gz"
    path.write_bytes(gzip.compress(csv_text().replace(",", ";").encode()))
    check(make(path))


def test_counters_and_unusable_en_passant_do_not_matter(make: Builder, tmp_path: Path) -> None:
    """No pawn can take on e3, so both ways to write it are the same position."""
    path = tmp_path / "features.csv"
    path.write_text(csv_text().replace(" b KQkq e3 0 1", " b KQkq - 0 17"))
    check(make(path))


def test_rows_of_other_positions_are_ignored(make: Builder, tmp_path: Path) -> None:
    path = tmp_path / "features.csv"
    path.write_text(csv_text() + "7,8/8/8/4k3/8/4K3/8/8 w - - 0 1,0.5,7\n")
    check(make(path))
    assert make.messages == ["1 of 5 rows of features are of positions that are not in the set"]


def npz(path: Path, **arrays: Any) -> Path:
    given: dict[str, Any] = {
        "fen": np.array([ROOK, E4, START, ENDING]),
        "names": np.array(["rook", "pawn"]),
        "phase": np.array([COUNTS[t][2] for t in (ROOK, E4, START, ENDING)]),
        "features": np.array([[COUNTS[t][1], COUNTS[t][0]] for t in (ROOK, E4, START, ENDING)]),
    } | arrays
    np.savez(path, **{name: value for name, value in given.items() if value is not None})
    return path


def test_npz_with_a_dense_matrix_is_read(make: Builder, tmp_path: Path) -> None:
    check(make(npz(tmp_path / "features.npz", fen=np.array([ROOK, E4, START, ENDING], dtype="S"))))


def test_npz_with_a_sparse_matrix_is_read(make: Builder, tmp_path: Path) -> None:
    features = make(
        npz(
            tmp_path / "features.npz",
            features=None,
            data=np.array([-1, 0, 1], dtype=np.int16),
            indices=np.array([0, 0, 1]),
            indptr=np.array([0, 1, 1, 2, 3]),
        )
    )
    check(features)
    assert len(features.values) == 2


def test_features_are_rebuilt_only_after_a_change(make: Builder, tmp_path: Path) -> None:
    calls = []

    def function(position: str) -> Any:
        calls.append(position)
        return COUNTS[position]

    make(function, version="one")
    assert dense(make(function, version="one")) == EXPECTED
    assert len(calls) == 4
    make(function, version="two")
    assert len(calls) == 8


CSV_FAULTS = {
    "no position": ("pawn,rook,phase\n", r"csv:1: no column with the position"),
    "no feature": ("fen,phase,pawn\n", r"csv:1: there is no column for the parameters' 'rook'"),
    "twice": ("fen,phase,pawn,rook,pawn\n", r"csv:1: there are two columns called 'pawn'"),
    "number": (csv_text() + f"1,{START},1,two\n", r"csv:6: 'two' is not a number"),
    "phase": (csv_text() + f"1,{START},24,1\n", r"csv:6: the phase must be from 0 .* not 24"),
    "missing": (csv_text((START, ROOK)), r"2 of 4 positions have no row: .* b KQkq e3"),
}


@pytest.mark.parametrize("fault", CSV_FAULTS)
def test_a_fault_of_a_csv_is_reported_with_its_line(
    make: Builder, tmp_path: Path, fault: str
) -> None:
    text, words = CSV_FAULTS[fault]
    path = tmp_path / "features.csv"
    path.write_text(text)
    with pytest.raises(DataFileError, match=words):
        make(path)
    assert not make.target.exists()


NPZ_FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "no text": ({"fen": None}, 'an array "fen"'),
    "shape": ({"features": np.zeros((4, 3))}, r'"features" of the shape \(4, 2\) is needed'),
    "words": ({"phase": np.array(["a"] * 4)}, '"phase" must be 4 numbers'),
    "a table of phases": ({"phase": np.ones((4, 1))}, r"not float64 \(4, 1\)"),
    "a table of names": ({"names": np.array([["rook", "pawn"]])}, 'an array "names"'),
    "large": ({"features": np.full((4, 2), 1e39)}, "not a finite number"),
    "infinite": ({"features": np.full((4, 2), np.inf)}, "not a finite number"),
    "objects": ({"features": np.array([[{}, 1]] * 4)}, "cannot read the features"),
    "sparse": (
        {"data": np.ones(2), "indices": np.array([0, 9]), "indptr": np.array([0, 1, 1, 1, 2])},
        "no sparse matrix by rows with 4 rows and 2 columns",
    ),
}


@pytest.mark.parametrize("fault", NPZ_FAULTS)
def test_a_fault_of_an_npz_is_reported(make: Builder, tmp_path: Path, fault: str) -> None:
    arrays, words = NPZ_FAULTS[fault]
    with pytest.raises(DataFileError, match=words):
        make(npz(tmp_path / "features.npz", **arrays))


def test_a_file_without_a_table_is_refused(make: Builder, tmp_path: Path) -> None:
    path = tmp_path / "features.npz"
    with pytest.raises(DataFileError, match="cannot read the file: no such file"):
        make(path)
    path.write_bytes(b"no zip")
    with pytest.raises(DataFileError, match="cannot read the features"):
        make(path)
    other = tmp_path / "features.xls"
    other.write_bytes(b"")
    with pytest.raises(DataFileError, match=r"is a \.csv or a \.npz file"):
        make(other)


def fails(position: str) -> Any:
    raise KeyError("x")


def exits(position: str) -> Any:
    raise SystemExit(3)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (fails, r"the function fails: KeyError: 'x' \(position rnbqkbnr/pppppppp/8/8/8"),
        (exits, "the function fails: SystemExit: 3"),
        (lambda text: (1, 2), 'there are 2 numbers, but 3 are expected, the last .* "phase"'),
        (lambda text: 7, "a mapping from features to counts is expected, or 3 numbers, not 7"),
        (lambda text: {"pawn": 1}, 'there is no "phase"'),
        (lambda text: as_mapping(text) | {"tempo": 1}, "no parameter is the weight of 'tempo'"),
        (lambda text: (0, float("inf"), 1), "a count is not a finite number"),
        (lambda text: (0, 1e39, 1), "a count is not a finite number"),
        (lambda text: (0, 0, 1 if text != ROOK else 2), r"not 2; .* \(position 8/8/4k3/8/8/4K3/4R"),
    ],
)
def test_a_fault_of_a_function_is_reported_with_the_position(
    make: Builder, function: Any, words: str
) -> None:
    with pytest.raises(DataFileError, match=words):
        make(function)


def test_features_without_a_parameter_may_be_ignored(make: Builder) -> None:
    check(make(lambda text: as_mapping(text) | {"tempo": 1}, unnamed="ignore"))


def of_answer(answer: str, position: str) -> Any:
    assert position in TEXTS
    return [float(word) for word in answer.split()]


def test_answers_of_shards_come_in_any_order_over_several_runs(
    positions: PositionFile, tmp_path: Path
) -> None:
    def opened(function: Any = of_answer, version: str = "") -> Features:
        target = tmp_path / "tune.features"
        return Features(function, positions, NAMES, target, phase=True, version=version)

    def answers(rows: range) -> list[str]:
        return [" ".join(map(str, COUNTS[TEXTS[i]])) for i in rows]

    first = opened()
    assert first.existing() is None
    for shard in range(3):
        opened(version="another").put(shard, range(1), answers(range(1)))
    first.put(1, range(1, 3, 2), answers(range(1, 3, 2)))
    later = opened()
    with pytest.raises(StoreCorrupt, match="is missing"):
        later.finish(3)
    later.put(2, range(3, 4), answers(range(3, 4)))
    later.put(0, range(0, 3, 2), answers(range(0, 3, 2)))
    check(later.finish(3))
    finished = opened().existing()
    assert finished is not None
    check(finished)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["positions", "tune.features"]


def test_a_damaged_shard_is_an_error(positions: PositionFile, tmp_path: Path) -> None:
    pieces = Features(of_answer, positions, NAMES, tmp_path / "x", phase=True)
    pieces.put(0, range(4), [" ".join(map(str, COUNTS[text])) for text in TEXTS])
    (path,) = (tmp_path / "x.pieces").iterdir()
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(StoreCorrupt, match="is damaged; delete it"):
        pieces.finish(1)


def test_positions_of_a_variant_are_compared_by_their_text() -> None:
    pocket = b"r1bqkbnr/8/8/8/8/8/8/R1BQKBNR[Nn] w - - 0 1"
    keys = position_keys([START.encode(), pocket, pocket.replace(b"0 1", b"9 9")], "chess")
    assert keys[0] == position_keys([START.encode()], "chess")[0]
    assert keys[1] == keys[2] != keys[0]
