"""What a control file calls: Player(…), Matchup(…), as it was written."""

from __future__ import annotations

from typing import Any

import msgspec


class Call(msgspec.Struct, frozen=True, eq=False):
    """A recorded call such as Player("gnugo", cwd="."): interpreted later, so
    that its errors can name the setting it became part of.

    position    (line, column) of the call, both from 1, or None
    positional  names of the arguments that may be given by position, as far as
                they are known
    """

    kind: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    position: tuple[int, int] | None = None
    positional: tuple[str, ...] = ()

    def canonical(self) -> dict[str, Any]:
        """Return what was called with what, for the comparison of two runs."""
        names = [*self.positional, *map(str, range(len(self.positional), len(self.args)))]
        return {**self.kwargs, "$": self.kind, **dict(zip(names, self.args, strict=False))}

    def __repr__(self) -> str:
        parts = [repr(a) for a in self.args]
        parts += [f"{k}={v!r}" for k, v in self.kwargs.items()]
        return f"{self.kind}({', '.join(parts)})"
