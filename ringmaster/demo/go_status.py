"""What is certain on a Go board, and how dead stones are taken off it."""

from __future__ import annotations

from collections.abc import Iterator

from ringmaster.demo.go_board import BLACK, Geometry, Position, bits, chains


def _components(board: Geometry, points: int) -> Iterator[int]:
    """Yield the joined sets of points that `points` falls into."""
    while points:
        part = board.flood(points & -points, points)
        points ^= part
        yield part


def _sides(position: Position, colour: int) -> tuple[int, int]:
    """Return the stones of `colour` and of the other side."""
    if colour == BLACK:
        return position.black, position.white
    return position.white, position.black


def secure_area(board: Geometry, position: Position, colour: int) -> int:
    """Return the points that `colour` keeps even if it never plays again.

    Chains that cannot be captured (Benson, "Life in the game of Go", 1976), and
    the regions they enclose in which every empty point is a liberty of theirs,
    so that the other side can make no eye there.
    """
    own, other = _sides(position, colour)
    empty = board.board & ~(own | other)
    alive = list(_components(board, own))
    regions = []
    for region in _components(board, board.board & ~own):
        if not region & empty & ~board.grow(own):
            regions.append(region)
    while True:
        stones = sum(alive)
        # a region with a border that may fall is of no use
        regions = [r for r in regions if not board.grow(r) & own & ~stones]
        kept = [
            chain
            for chain in alive
            if sum(not r & empty & ~board.grow(chain) for r in regions if board.grow(r) & chain)
            >= 2
        ]
        if len(kept) == len(alive):
            return stones | sum(regions)
        alive = kept


def is_certain_win(board: Geometry, position: Position, colour: int, komi: float) -> bool:
    """Whether `colour` wins by area if the other side gets all that is not secure."""
    mine = secure_area(board, position, colour).bit_count()
    margin = 2 * mine - board.board.bit_count()
    return margin > (komi if colour == BLACK else -komi)


def cleanup_move(board: Geometry, position: Position, colour: int) -> int | None:
    """Return a point that helps to take dead stones of the other side off, or
    None when there is nothing left to do.

    Stones count as dead when they stand in a region of `colour` and have no room
    for two eyes in it.  Chains that are nearly taken come first; a stone that
    could be taken itself is not played, unless it captures.
    """
    own, other = _sides(position, colour)
    empty = board.board & ~(own | other)
    found: list[tuple[int, int]] = []
    for region in _components(board, board.board & ~own):
        if not region & other or not own:
            continue
        eyes = [e for e in _components(board, region & empty) if not board.grow(e) & own]
        if len(eyes) >= 2 or sum(eyes).bit_count() > 2:
            continue
        for chain in set(chains(board, region & other, empty).values()):
            for point in bits(chain.liberties):
                found.append((chain.liberties.bit_count(), point))
    for _, point in sorted(found):
        after = position.play(board, point, colour)
        if after is None:
            continue
        mine, theirs = _sides(after, colour)
        stones = board.flood(1 << point, mine)
        free = board.grow(stones) & board.board & ~(mine | theirs)
        if theirs != other or free.bit_count() > 1:
            return point
    return None
