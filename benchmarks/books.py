"""Time of large opening books: the start of a competition, and the verification of all openings.

    python -m benchmarks.books [FOLDER]

The books are generated: an EPD of all 921,600 positions of double Chess960, a PGN of 34,700
games of 8 moves, and an EPD of 242,201 lines.  The start includes the first opening in a
random order.
"""

from __future__ import annotations

import random
import resource
import sys
import tempfile
import time
from pathlib import Path

import chess

from ringmaster.competitions.opening_settings import OpeningBook, OpeningsSettings
from ringmaster.model.jobs import GameSettings

GAMES, LINES, PLIES = 34_700, 242_201, 16


def double_chess960(path: Path) -> None:
    """Write all pairs of first ranks, with castling rights by file."""
    ranks = []
    for number in range(960):
        rank = chess.Board.from_chess960_pos(number).board_fen().rpartition("/")[2]
        files = "".join("ABCDEFGH"[i] for i in (rank.rfind("R"), rank.find("R")))
        ranks.append((rank, files))
    with path.open("w") as file:
        for black, black_files in ranks:
            start = f"{black.lower()}/pppppppp/8/8/8/8/PPPPPPPP/"
            rights = black_files.lower()
            file.writelines(f"{start}{rank} w {files}{rights} - 0 1\n" for rank, files in ranks)


def walk(rng: random.Random) -> chess.Board:
    """Return a position after random moves from the usual one."""
    board = chess.Board()
    while len(board.move_stack) < PLIES and not board.is_game_over():
        board.push(rng.choice(list(board.legal_moves)))
    return board if not board.is_game_over() else walk(rng)


def games(path: Path) -> None:
    """Write games as collections of openings have them."""
    rng = random.Random(1)
    with path.open("w") as file:
        for number in range(GAMES):
            moves = chess.Board().variation_san(walk(rng).move_stack)
            file.write(
                f'[Event "?"]\n[Site "?"]\n[Round "{number}"]\n[Result "*"]\n\n{moves} *\n\n'
            )


def positions(path: Path) -> None:
    """Write positions without counters, each in two or three lines of the file."""
    rng = random.Random(2)
    epds = [walk(rng).epd() for _ in range(LINES // 8)]
    with path.open("w") as file:
        file.writelines(f"{epds[number % len(epds)]}\n" for number in range(LINES))


def measure(path: Path, variant: str) -> None:
    """Print CPU seconds of the start and of the verification."""
    book = OpeningBook(
        OpeningsSettings(str(path), order="random"), GameSettings("chess", variant=variant), seed=1
    )
    began = time.process_time()
    unverified = book.load(print)
    book.pick(0)
    started = time.process_time()
    for checks in unverified:
        for _ in checks:
            pass
    verified = time.process_time()
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(
        f"{path.name}: {book.size:,} openings, start {started - began:.2f} s, "
        f"verification {verified - started:.1f} s, peak {megabytes} MB"
    )


def main(folder: Path) -> None:
    """Write the books that the folder lacks, and measure them."""
    books = (
        ("games.pgn", games, "standard"),
        ("positions.epd", positions, "standard"),
        ("chess960.epd", double_chess960, "chess960"),
    )
    for name, write, variant in books:
        path = folder / name
        if not path.exists():
            write(path)
        measure(path, variant)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(Path(folder))
