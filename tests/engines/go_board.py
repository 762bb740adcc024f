"""A Go board for the GTP test engine: captures, suicide, simple ko, area score."""

from __future__ import annotations

COLUMNS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"


def vertex(point: tuple[int, int]) -> str:
    """Return the GTP name of a point."""
    return f"{COLUMNS[point[0]]}{point[1] + 1}"


class Board:
    """Stones by point, "b" or "w"."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.stones: dict[tuple[int, int], str] = {}
        self._ko: tuple[tuple[int, int], str] | None = None

    def point(self, name: str) -> tuple[int, int]:
        """Return the point of a vertex; raises ValueError."""
        column = COLUMNS.find(name[:1].upper()) if name else -1
        row = int(name[1:]) - 1 if name[1:].isdigit() else -1
        if not (0 <= column < self.size and 0 <= row < self.size):
            raise ValueError("invalid vertex")
        return column, row

    def play(self, colour: str, point: tuple[int, int]) -> None:
        """Put a stone and capture; raises ValueError and changes nothing when that
        is illegal."""
        if point in self.stones:
            raise ValueError("illegal move: occupied")
        if self._ko == (point, colour):
            raise ValueError("illegal move: ko")
        before = dict(self.stones)
        self.stones[point] = colour
        captured: set[tuple[int, int]] = set()
        for near in self._neighbours(point):
            if self.stones.get(near) not in (None, colour):
                group, liberties = self._group(near)
                if not liberties:
                    captured |= group
        for stone in captured:
            del self.stones[stone]
        group, liberties = self._group(point)
        if not liberties:
            self.stones = before
            raise ValueError("illegal move: suicide")
        self._ko = None
        if len(captured) == len(group) == len(liberties) == 1:
            self._ko = (captured.pop(), "w" if colour == "b" else "b")

    def forget_ko(self) -> None:
        """A pass has been played."""
        self._ko = None

    def fill(self, colour: str) -> tuple[int, int] | None:
        """Play the first legal point of the colour's own half (Black's is the left
        one), in a fixed order that leaves two eyes; None when there is none."""
        middle = (self.size + 1) // 2
        columns = range(middle) if colour == "b" else range(self.size - 1, middle - 1, -1)
        for row in range(self.size):
            for column in columns:
                if column == columns[0] and row in (0, self.size - 1):
                    continue
                try:
                    self.play(colour, (column, row))
                except ValueError:
                    continue
                return column, row
        return None

    def area(self) -> int:
        """Return Black's area less White's, with all stones alive."""
        balance = sum(1 if colour == "b" else -1 for colour in self.stones.values())
        seen: set[tuple[int, int]] = set()
        for column in range(self.size):
            for row in range(self.size):
                if (column, row) in self.stones or (column, row) in seen:
                    continue
                region, border = self._region((column, row))
                seen |= region
                if len(border) == 1:
                    balance += len(region) if border == {"b"} else -len(region)
        return balance

    def _neighbours(self, point: tuple[int, int]) -> list[tuple[int, int]]:
        x, y = point
        near = ((x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1))
        return [(a, b) for a, b in near if 0 <= a < self.size and 0 <= b < self.size]

    def _group(self, point: tuple[int, int]) -> tuple[set[tuple[int, int]], set[tuple[int, int]]]:
        """Return the stones connected with a stone, and their liberties."""
        colour = self.stones[point]
        group, liberties, left = {point}, set(), [point]
        while left:
            for near in self._neighbours(left.pop()):
                stone = self.stones.get(near)
                if stone is None:
                    liberties.add(near)
                elif stone == colour and near not in group:
                    group.add(near)
                    left.append(near)
        return group, liberties

    def _region(self, point: tuple[int, int]) -> tuple[set[tuple[int, int]], set[str]]:
        """Return the empty points connected with one, and the colours around."""
        region, border, left = {point}, set(), [point]
        while left:
            for near in self._neighbours(left.pop()):
                stone = self.stones.get(near)
                if stone is not None:
                    border.add(stone)
                elif near not in region:
                    region.add(near)
                    left.append(near)
        return region, border
