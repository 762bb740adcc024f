"""The bench for engines over UCI and USI: its dialect, the limits that the engine
is known to obey, and what was measured."""

from __future__ import annotations

from collections.abc import Callable

from ringmaster.engines.engine import Engine
from ringmaster.engines.options import OptionDeclaration
from ringmaster.model.jobs import GameSettings
from ringmaster.model.players import Player
from ringmaster.play.compliance.answers import Answer, Word
from ringmaster.play.compliance.bench import Bench, Patience
from ringmaster.play.compliance.dialects import Dialect, Probe
from ringmaster.play.compliance.tape import Tape


class SearchBench(Bench):
    """A bench for an engine that searches when told `go`."""

    def __init__(
        self,
        player: Player,
        settings: GameSettings,
        make: Callable[[], Engine],
        tape: Tape,
        patience: Patience,
        dialect: Dialect,
    ) -> None:
        super().__init__(player, settings, make, tape, patience)
        self.dialect = dialect
        #: `go` commands of short searches, by limit, that came to an end.
        self.usable: dict[str, str] = {}
        #: Options as declared, by their folded names.
        self.options: dict[str, OptionDeclaration] = {}

    @property
    def quick(self) -> str:
        """A `go` command for a search of about 50 ms."""
        for limit in ("nodes", "movetime", "depth", "clock"):
            if limit in self.usable:
                return self.usable[limit]
        return "go movetime 60"

    @property
    def deep(self) -> str:
        """A `go` command for a search that sees a mate in two moves."""
        if "movetime" in self.usable:
            return "go movetime 300"
        if "nodes" in self.usable:
            return f"go nodes {6 * int(self.usable['nodes'].split()[-1])}"
        if "clock" in self.usable:
            return self.dialect.clocks(6000, 6000)
        return self.quick

    @property
    def fixed(self) -> str | None:
        """A `go` command for which the same search takes place each time, or None."""
        return self.usable.get("nodes") or self.usable.get("depth")

    def search(self, probe: Probe, go: str) -> Answer:
        """Have the engine search a probe's position.  Raises EngineError."""
        return self.think(self.dialect.position(probe), go)

    def in_new_game(self, probe: Probe, go: str) -> Answer:
        """The same as `search` in a game of its own."""
        self.new_game()
        return self.search(probe, go)

    def timed(self, probe: Probe, go: str, allowed: int) -> tuple[Answer, float]:
        """Search with a clock or move time of `allowed` ms; returns the answer and
        by how many ms it came late (negative: in time).

        A second try is made after an answer that is too late for the margin, and
        the better one counts: the machine may have been busy.
        """
        best: Answer | None = None
        for _ in range(2):
            # what is in the hash table would be answered at once
            self.new_game()
            answer = self.think(
                self.dialect.position(probe), go, allowed / 1000 + self.patience.search
            )
            if best is None or answer.ms < best.ms:
                best = answer
            if best.was_stopped or best.ms - allowed <= 1000 * self.margin:
                break
        assert best is not None
        return best, best.ms - allowed

    def new_game(self) -> float:
        """Announce a new game; returns the milliseconds to readyok.  Raises
        EngineError."""
        if self.dialect.name == "UCI":
            return self.ready(self.dialect.new_game)[0]
        # in USI a game ends by gameover, and isready comes before usinewgame
        ms = self.ready("gameover draw")[0]
        self.engine().channel.send(f"{self.dialect.new_game}\n".encode(), self.patience.stop)
        return ms

    def ready(self, *before: str, seconds: float | None = None) -> tuple[float, list[str]]:
        """Send lines and isready; returns the milliseconds to readyok and the first
        lines that came before it.  Raises EngineError."""
        request = "".join(f"{line}\n" for line in (*before, "isready"))
        word = Word(request.encode(), b"readyok")
        patience = max(self.patience.search, self.settings.hang_timeout)
        return self.converse(word, patience if seconds is None else seconds), word.others
