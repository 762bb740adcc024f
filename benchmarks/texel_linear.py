"""Measure position-gradients a second of the linear optimiser, and its memory.

    python benchmarks/texel_linear.py [--positions 1000000] [--features 75] [--fit] [--json]

A position-gradient is the loss of one position with its derivatives by all weights.  There are
two weights a feature (tapered), and about 25 features occur in a position.  For comparison, the
plain loop of texel_linear.c does the same if there is a C compiler, with as many threads.  --fit
also times a fit.

The best of several rounds is reported, since a busy machine only slows.  "By cpu" uses the CPU
time of all threads: the speed of one idle processor.  Ratios use these figures.
"""

from __future__ import annotations

import argparse
import ctypes
import dataclasses
import os
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

# before NumPy is loaded: threads of its BLAS would be counted twice
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from common import show_figures
from scipy.sparse import csr_array, hstack

from ringmaster.positions import FeatureFile
from ringmaster.positions.feature_file import write_features
from ringmaster.tuners.space import Space
from ringmaster.tuners.texel.features import FeatureModel, wiring_of
from ringmaster.tuners.texel.loss import Loss

SCALE = 200.0
OCCURRING = 25
_CHUNK = 50_000
_C = Path(__file__).parent / "c" / "texel_linear.c"


def make(folder: Path, positions: int, features: int) -> FeatureFile:
    """Write a feature file of random counts."""
    rng = np.random.default_rng(1)
    names = [f"feature{i}" for i in range(features)]

    def blocks() -> Iterator[tuple[Any, Any]]:
        for first in range(0, positions, _CHUNK):
            n = min(_CHUNK, positions - first)
            lengths = np.clip(rng.poisson(OCCURRING, n), 1, features)
            columns = np.argsort(rng.random((n, features), dtype=np.float32), axis=1)
            columns = np.sort(
                np.where(np.arange(features) < lengths[:, np.newaxis], columns, features), axis=1
            )
            columns = columns[columns < features]
            values = rng.integers(1, 4, len(columns)) * rng.choice([-1, 1], len(columns))
            indptr = np.concatenate([[0], np.cumsum(lengths)])
            counts = csr_array((values, columns, indptr), shape=(n, features))
            phase = csr_array(rng.integers(0, 25, (n, 1)) / 24)
            yield np.arange(first, first + n), hstack([counts, phase], format="csr")

    write_features(folder / "features", names, positions, "", blocks(), phase=True)
    return FeatureFile(folder / "features")


def best_rate(count: int, work: Callable[[], Any], rounds: int) -> tuple[float, float]:
    """Return millions a second, by the clock and by cpu, of the best rounds."""
    clock, cpu = [], []
    for _ in range(rounds):
        start, own = time.perf_counter(), time.process_time()
        work()
        clock.append(time.perf_counter() - start)
        cpu.append(time.process_time() - own)
    return count / min(clock) / 1e6, count / min(cpu) / 1e6


def split(part: Callable[[int, int], Any], count: int, threads: int) -> list[Any]:
    """Call `part` for equal ranges of positions in `threads` threads."""
    ends = [count * i // threads for i in range(threads + 1)]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(part, ends[:-1], ends[1:]))


def c_gradient(
    model: FeatureModel, theta: Any, threads: int, folder: Path
) -> Callable[[], Any] | None:
    """Return a function for the gradient by the loop in C; None without a compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    matrix = model.matrix
    if compiler is None or matrix.values.dtype != np.int8 or matrix.columns.dtype != np.uint8:
        return None
    library = folder / "gradient.so"
    flags = ["-O3", "-march=native", "-ffast-math", "-shared", "-fPIC"]
    subprocess.run([compiler, *flags, str(_C), "-o", str(library), "-lm"], check=True)
    function = ctypes.CDLL(str(library)).add_gradient
    weights = np.concatenate([theta[0::2], theta[1::2]]).astype(np.float32)
    arrays = [
        matrix.indptr, matrix.columns, matrix.values, matrix.phase, model.offset, model.target
    ]  # fmt: skip
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in (*arrays, weights)]  # type: ignore[union-attr]

    def part(a: int, b: int) -> Any:
        error, gradient = np.zeros(1), np.zeros(len(weights))
        function(
            ctypes.c_size_t(a),
            ctypes.c_size_t(b),
            *pointers,
            ctypes.c_size_t(len(weights) // 2),
            ctypes.c_float(SCALE),
            ctypes.c_void_p(error.ctypes.data),
            ctypes.c_void_p(gradient.ctypes.data),
        )
        return float(error[0]), gradient

    return lambda: split(part, model.train, threads)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--positions", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=75)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--fit", action="store_true", help="time whole fits, too")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    n, threads = arguments.positions, arguments.threads
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        start = time.perf_counter()
        matrix = make(folder, n, arguments.features)
        figures["feature file written, seconds"] = time.perf_counter() - start
        figures["feature file, MB"] = matrix.path.stat().st_size / 1e6
        figures["features a position"] = len(matrix.values) / n
        codes = [f"{name}_{half}" for name in matrix.names for half in ("mg", "eg")]
        wiring = wiring_of(matrix.names, codes, tapered=True)
        rng = np.random.default_rng(2)
        true = rng.normal(0, 20, len(codes))
        ones = np.ones(n, dtype=np.float32)
        games = (np.arange(n) // 15).astype(np.uint32)
        start = np.zeros(len(codes))
        space = Space(start, start - 500, start + 500, np.zeros(len(codes), dtype=np.bool_))
        model = FeatureModel(
            space,
            matrix,
            wiring,
            ones * 0,
            ones * 0,
            ones,
            games,
            n,
            Loss("squared", SCALE),
            threads=threads,
        )
        p = 1 / (1 + np.exp(-model.linear(true, 0, n) / SCALE))
        model.target = (rng.random(n, dtype=np.float32) < p).astype(np.float32)
        theta = true + rng.normal(0, 10, len(codes))
        for count in dict.fromkeys((1, threads)):
            each = dataclasses.replace(model, threads=count)
            rate = best_rate(n, lambda m=each: m.gradient(theta), arguments.rounds)  # type: ignore[misc]
            figures[f"million position-gradients a second, {count} threads"] = rate[0]
            figures[f"the same by cpu, {count} threads"] = rate[1]
        loop = c_gradient(model, theta, threads, folder)
        if loop is not None:
            by_c = best_rate(n, loop, arguments.rounds)
            figures["loop in C"], figures["loop in C, by cpu"] = by_c
            figures["ratio to a loop in C"] = rate[1] / by_c[1]
            _, slope = model.gradient(theta)
            parts = loop()
            c_slope = sum(gradient for _, gradient in parts) / n
            c_slope = c_slope.reshape(2, -1).T.reshape(-1)
            figures["largest difference of the two, relative"] = float(
                np.abs(slope - c_slope).max() / np.abs(slope).max()
            )
        if arguments.fit:
            figures |= fits(model, theta, true)
        figures["peak memory, MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    show_figures(figures, as_json=arguments.json)


def fits(model: FeatureModel, start: Any, true: Any) -> dict[str, float]:
    """Time a fit."""
    begin = time.perf_counter()
    (point,) = model.path([0.0], start)
    figures = {
        "fit: seconds": time.perf_counter() - begin,
        "fit: distance from the true weights, cp (rms)": float(
            np.sqrt(np.square(point.theta - true).mean())
        ),
    }
    begin = time.perf_counter()
    _ = model.quadratic(point.theta, by_game=True).estimate
    figures["intervals: seconds"] = time.perf_counter() - begin
    return figures


if __name__ == "__main__":
    main()
