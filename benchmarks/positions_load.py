"""Measure the conversion of labelled positions to a position file, for each format.

The figures are positions a second, the time of a second start, and the peak of memory.

    python benchmarks/positions_load.py [--positions 1000000] [--formats epd,plain] [--json]

The positions are of random games of chess, and the side with more material wins.  Each format
has a process of its own.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from common import show_figures

FORMATS = ("epd", "fen", "bar", "comma", "plain")
_VALUES = {"p": 1, "n": 3, "b": 3, "r": 5, "q": 9}
_RESULTS = {0: "0-1", 1: "1/2-1/2", 2: "1-0"}


def games(count: int) -> Iterator[tuple[str, int, int, int]]:
    """Yield (FEN, centipawns, half points, ply), the last three from White."""
    import cozy_chess as cozy

    rng = random.Random(1)
    while count > 0:
        board, rows = cozy.Board(), []
        for ply in range(1, rng.randrange(40, 160)):
            moves = board.generate_moves()
            if not moves:
                break
            board.play(rng.choice(moves))
            fen = board.fen()
            men = fen.split(" ", 1)[0]
            ahead = sum(v * (men.count(p.upper()) - men.count(p)) for p, v in _VALUES.items())
            rows.append((fen, 100 * ahead + rng.randrange(-60, 60), ply))
        ahead = rows[-1][1]
        result = 1 if abs(ahead) < 200 else 2 * (ahead > 0)
        for fen, score, ply in rows[:count]:
            yield fen, score, result, ply
        count -= len(rows)


def line(format: str, fen: str, score: int, result: int, ply: int) -> str:
    """Return a position in a format."""
    white = fen.split(" ", 2)[1] == "w"
    own, outcome = (score, result) if white else (-score, 2 - result)
    if format == "epd":
        return f'{fen.rsplit(" ", 2)[0]} c9 "{_RESULTS[result]}"; ce {own};\n'
    if format == "fen":
        return f"{fen} [{result / 2}]\n"
    if format == "bar":
        return f"{fen} | {score} | {result / 2}\n"
    if format == "comma":
        return f"{fen},{own},{outcome}\n"
    return f"fen {fen}\nmove e2e4\nscore {own}\nply {ply}\nresult {outcome - 1}\ne\n"


def load(format: str, path: Path) -> dict[str, float]:
    """Build a position file, open it again, and return the figures."""
    from ringmaster.datasets.position_set import build_positions
    from ringmaster.datasets.position_settings import PositionSettings

    settings = PositionSettings((str(path),), format=format, duplicates="merge")
    target = path.with_suffix(".positions")
    begin, cpu = time.perf_counter(), time.process_time()
    position_file = build_positions("chess", "standard", [settings], 0.2, 1, target, lambda _: None)
    end, cpu = time.perf_counter(), time.process_time() - cpu
    build_positions("chess", "standard", [settings], 0.2, 1, target, lambda _: None)
    again = time.perf_counter()
    return {
        "seconds": end - begin,
        "cpu_seconds": cpu,
        "kept": float(len(position_file)),
        "second_start_ms": (again - end) * 1e3,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "file_mb": target.stat().st_size / 1e6,
    }


def measure(formats: list[str], count: int) -> dict[str, float]:
    """Measure formats, each in a process of its own."""
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        files = {f: (Path(folder) / f"set.{f}").open("w") for f in formats}
        for row in games(count):
            for format, file in files.items():
                file.write(line(format, *row))
        for format, file in files.items():
            file.close()
            path = Path(folder) / f"set.{format}"
            command = [sys.executable, __file__, "--load", format, str(path)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            measured = json.loads(done.stdout)
            figures[f"{format}_positions_a_second"] = count / measured.pop("seconds")
            figures[f"{format}_positions_a_cpu_second"] = count / measured.pop("cpu_seconds")
            figures |= {f"{format}_{name}": value for name, value in measured.items()}
            path.unlink()
            path.with_suffix(".positions").unlink()
    return figures


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--positions", type=int, default=1_000_000)
    parser.add_argument("--formats", default=",".join(FORMATS))
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--load", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.load:
        print(json.dumps(load(arguments.load[0], Path(arguments.load[1]))))
        return
    show_figures(measure(arguments.formats.split(","), arguments.positions), as_json=arguments.json)


if __name__ == "__main__":
    main()
