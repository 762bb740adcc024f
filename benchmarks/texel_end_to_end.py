"""Test whether a Texel tune through the whole program recovers known weights.

    python benchmarks/texel_end_to_end.py [--sets 8] [--positions 20000] [-j 2]

The shipped chess engine labels positions of random play by its own `eval` with known weights.
Each position is a separate game, won by White with the probability of its score.
`ringmaster x.ctl run` then tunes the engine over UCI from wrong weights.  For each set the
output has passes, seconds, the training error at the start and at the end, and the true weights
outside the reported 95 % intervals.  The status is 1 if fewer than 90 % of all are inside.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import chess
import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from ringmaster.demo.chess_engine import WEIGHTS
from ringmaster.tuners.texel.loss import sigmoid

SCALE = 150.0
ENGINE = [sys.executable, "-m", "ringmaster.demo", "chess"]

CONTROL = """competition_type = "texel"
game = "chess"
players = {{"demo": Player({engine!r}, options={{"Noise": 0}})}}
player = "demo"
parameters = [
{parameters}
]
positions = Positions("set.bar", score_cap=None)
win_rate_scale = {scale}
seed = {seed}
"""


def random_positions(count: int, seed: int) -> list[str]:
    """Return FENs of random play, without positions in check."""
    rng = random.Random(seed)
    fens: dict[str, None] = {}
    while len(fens) < count:
        board = chess.Board()
        for ply in range(90):
            legal = list(board.legal_moves)
            if not legal:
                break
            if ply >= 10 and ply % 5 == 0 and not board.is_check():
                fens[board.fen()] = None
            board.push(rng.choice(legal))
    return list(fens)[:count]


def scores(positions: list[str], weights: dict[str, int]) -> list[int]:
    """Return the engine's scores of positions, centipawns for White."""
    lines = [f"setoption name {name} value {value}" for name, value in weights.items()]
    lines.append("setoption name Noise value 0")
    for position in positions:
        lines += [f"position fen {position}", "eval"]
    text = "\n".join(["uci", *lines, "quit", ""])
    done = subprocess.run(ENGINE, input=text, capture_output=True, text=True, check=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith("Final eval")]
    assert len(lines) == len(positions)
    return [round(100 * float(line.split()[2])) for line in lines]


def tune(folder: Path, positions: list[str], seed: int, parallel: int) -> tuple[int, int]:
    """Tune one set; return the number of true weights inside their intervals, and their total."""
    draw = random.Random(seed)
    true = {w.name: max(w.min, round(w.default * draw.uniform(0.6, 1.4))) for w in WEIGHTS}
    labels = scores(positions, true)
    chance = sigmoid(np.array(labels) / SCALE)
    won = np.random.default_rng(seed).random(len(labels)) < chance
    text = [f"{p} | {s} | {float(w)}" for p, s, w in zip(positions, labels, won, strict=True)]
    (folder / "set.bar").write_text("\n".join(text) + "\n")
    parameters = "\n".join(
        f"    Parameter({w.name!r}, start={w.default}, min={w.min}, max={w.max}, integer=True),"
        for w in WEIGHTS
    )
    control = folder / "t.ctl"
    control.write_text(CONTROL.format(engine=ENGINE, parameters=parameters, scale=SCALE, seed=seed))
    begun = time.monotonic()
    command = [sys.executable, "-m", "ringmaster", str(control)]
    subprocess.run([*command, "run", "-q", "-j", str(parallel)], check=True)
    seconds = time.monotonic() - begun
    shown = subprocess.run([*command, "show", "--json"], check=True, capture_output=True, text=True)
    data = json.loads(shown.stdout)
    rows = {row["code"]: row for row in data["parameters"]}
    outside = []
    for name, value in true.items():
        low, high = rows[name]["low"], rows[name]["high"]
        if not low <= value <= high:
            outside.append(f"{name} {value} not in {low:.1f} to {high:.1f}")
    passes = data["course"][-1]["passes"]
    start, best = data["course"][0]["training"], min(s["training"] for s in data["course"])
    print(
        f"set {seed}: {passes:.0f} passes, {seconds:.1f} s, training error {start:.6f} ->"
        f" {best:.6f}; {len(true) - len(outside)} of {len(true)} inside"
        + "".join(f"; {line}" for line in outside),
        flush=True,
    )
    return len(true) - len(outside), len(true)


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=8)
    parser.add_argument("--positions", type=int, default=20_000)
    parser.add_argument("-j", "--parallel", type=int, default=2)
    options = parser.parse_args()
    positions = random_positions(options.positions, seed=1)
    inside = total = 0
    for seed in range(1, options.sets + 1):
        with tempfile.TemporaryDirectory() as folder:
            covered, count = tune(Path(folder), positions, seed, options.parallel)
            inside, total = inside + covered, total + count
    print(f"{inside} of {total} true weights inside their 95 % intervals: {inside / total:.1%}")
    return 0 if inside >= 0.9 * total else 1


if __name__ == "__main__":
    raise SystemExit(main())
