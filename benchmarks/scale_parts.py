"""The processes that `scale.py` measures, or has make what it measures:

python scale_parts.py write FOLDER TYPE GAMES RECORDS   write a control file
python scale_parts.py fill FOLDER GAMES                 record so many games
python scale_parts.py resume FOLDER    go on; prints the moment (CLOCK_MONOTONIC) at
                                       which the first game is given out
python scale_parts.py slices FEW MANY GAMES SLICES
                                       record slices of so many games more, in turns; prints
                                       the CPU seconds a game of both, as JSON
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path

from invented import Invented, fill, write_control_file

from ringmaster.event import Event
from ringmaster.reporting.live import QuietDisplay
from ringmaster.ringmaster import Ringmaster, RunOptions


def _go_on(folder: Path, games: int, executor: Invented) -> None:
    status = Ringmaster(
        Event(folder / "tune.ctl"),
        RunOptions(max_games=games),
        executor=lambda: executor,
        display=QuietDisplay(sys.stderr),
    ).run()
    assert status == 0


def _slice(folder: Path, games: int, seed: int) -> float:
    work = Invented(seed=seed)
    _go_on(folder, games, work)
    return (work.times[-1] - work.times[0]) / (len(work.times) - 1)


def main() -> None:
    """Carry one part out."""
    action, folder, *rest = sys.argv[1:]
    path = Path(folder)
    if action == "write":
        write_control_file(path, rest[0], int(rest[1]), records=bool(int(rest[2])))
    elif action == "fill":
        fill(path / "tune.ctl", int(rest[0]), seed=int(rest[0]))
    elif action == "resume":
        _go_on(path, 1, Invented(lambda: print(time.monotonic(), time.process_time())))
    else:
        other, games, slices = Path(rest[0]), int(rest[1]), int(rest[2])
        pairs = [(_slice(path, games, n), _slice(other, games, n)) for n in range(slices)]
        print(json.dumps([statistics.median(side) for side in zip(*pairs, strict=True)]))


if __name__ == "__main__":
    main()
