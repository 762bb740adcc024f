"""Chooses moves for the demo Go engine: one ply ahead, by weighted features.

Every legal point that is no eye of its own is given a value; the highest is
played.  The weights are options.  There is no search and no reading.
"""

from __future__ import annotations

from collections.abc import Mapping

from ringmaster.demo.go_board import Geometry, Position, bits, chains
from ringmaster.demo.options import Option

WEIGHTS = (
    # For each stone taken; put, by the move, into atari; or saved from it.
    Option("Capture", 30, -100, 200),
    Option("Atari", 10, -100, 200),
    Option("Escape", 25, -100, 200),
    # For each own stone left with a single liberty (taken off).
    Option("SelfAtari", 30, -100, 200),
    # For each liberty of the stones played on, up to four; taken from others.
    Option("Liberties", 4, -50, 50),
    Option("Pressure", 3, -50, 50),
    # For joining own chains, parting those of the other, and bending round them.
    Option("Connect", 6, -100, 100),
    Option("Cut", 10, -100, 100),
    Option("Hane", 8, -100, 100),
    # For a point near the last move; on the third or fourth line; on the first.
    Option("Near", 6, -100, 100),
    Option("HighLine", 5, -100, 100),
    Option("FirstLine", -12, -100, 100),
    # For a point with only own stones around.
    Option("OwnArea", -20, -100, 100),
)

#: A random amount of up to so much, fixed for a position and seed.
NOISE = (Option("Noise", 3, 0, 1000), Option("Seed", 0, 0, 999_999_999))

_WORD = (1 << 64) - 1


def is_eye(board: Geometry, point: int, own: int, other: int) -> bool:
    """Return whether filling an empty point would fill an own eye."""
    if board.neighbours[point] & ~own:
        return False
    diagonals = board.diagonals[point]
    false = (diagonals & other).bit_count()
    return false == 0 or (false == 1 and board.line[point] > 1)


def choose(
    board: Geometry,
    position: Position,
    colour: int,
    last: int | None,
    values: Mapping[str, int],
) -> tuple[int | None, str]:
    """Return the point to play, or None for a pass, and why.

    last    point of the move before, None if it was a pass or there was none
    values  option values by name, for all of WEIGHTS and NOISE
    """
    own, other = position.black, position.white
    if colour:
        own, other = other, own
    empty = board.board & ~(own | other)
    own_chains = chains(board, own, empty)
    other_chains = chains(board, other, empty)
    noise = values["Noise"]
    seed = (values["Seed"] * 0xD1342543DE82EF95 + position.black * 3 + position.white * 5) & _WORD
    # Boards have up to 650 bits: all of them count.
    seed ^= (position.black ^ position.white << 1) % 0xFFFFFFFFFFFFFFC5
    vicinity = 0 if last is None else board.vicinity[last]
    best: tuple[int, int, dict[str, int]] | None = None
    for point in bits(empty & ~position.ko):
        if is_eye(board, point, own, other):
            continue
        bit = 1 << point
        around = board.neighbours[point]
        joined = {own_chains[q] for q in bits(around & own)}
        touched = {other_chains[q] for q in bits(around & other)}
        found = dict.fromkeys(("Capture", "Atari", "Escape", "SelfAtari", "Pressure"), 0)
        taken = 0
        for chain in touched:
            left = (chain.liberties & ~bit).bit_count()
            if left == 0:
                taken |= chain.stones
            elif left == 1:
                found["Atari"] += chain.stones.bit_count()
            elif left == 2:
                found["Pressure"] += 1
        stones = bit
        liberties = around & empty
        for chain in joined:
            stones |= chain.stones
            liberties |= chain.liberties
        liberties = (liberties | board.grow(stones) & taken) & ~bit
        count = liberties.bit_count()
        if count == 0:
            continue
        found["Capture"] = taken.bit_count()
        if count == 1:
            found["SelfAtari"] = -stones.bit_count()
        else:
            for chain in joined:
                if chain.liberties == bit:
                    found["Escape"] += chain.stones.bit_count()
        found["Liberties"] = min(count, 4)
        found["Connect"] = len(joined) > 1
        found["Cut"] = len(touched) > 1
        found["Hane"] = _is_hane(board, around, board.diagonals[point], own, other)
        found["Near"] = vicinity >> point & 1
        line = board.line[point]
        found["HighLine"] = line in (3, 4)
        found["FirstLine"] = line == 1
        nearby = board.vicinity[point]
        found["OwnArea"] = bool(nearby & own) and not nearby & other
        value = sum(values[name] * amount for name, amount in found.items())
        if noise:
            mixed = (seed + point * 0x9E3779B97F4A7C15) & _WORD
            mixed = (mixed ^ mixed >> 31) * 0xBF58476D1CE4E5B9 & _WORD
            mixed = (mixed ^ mixed >> 29) * 0x94D049BB133111EB & _WORD
            value += (mixed >> 32) % (2 * noise + 1) - noise
        if best is None or value > best[0]:
            best = (value, point, found)
    if best is None:
        return None, "pass: only own eyes are left"
    value, point, found = best
    reasons = [f"{name} {values[name] * amount:+d}" for name, amount in found.items() if amount]
    return point, f"value {value}: {', '.join(reasons) or 'nothing in particular'}"


def _is_hane(board: Geometry, around: int, diagonals: int, own: int, other: int) -> bool:
    """Return whether the point bends round a stone of the other side that an
    own stone, diagonal to the point, stands beside."""
    return bool(diagonals & own & board.grow(around & other)) and not around & own
