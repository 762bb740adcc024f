"""The Universal Chess Interface, as far as it is not shared with USI."""

from __future__ import annotations

from ringmaster.engines.engine import Limits
from ringmaster.engines.universal import UniversalEngine, move_limits
from ringmaster.errors import OptionRefused
from ringmaster.model.jobs import GameSettings, Opening
from ringmaster.model.players import OptionValue


class UciEngine(UniversalEngine):
    """A chess engine over UCI."""

    protocol = "uci"
    _setup_word = "fen"
    _ponder_options = ("Ponder",)

    def _own_options(self, settings: GameSettings, opening: Opening) -> dict[str, OptionValue]:
        # the variant first: engines load their tables when they are told of it
        return {**self._variant(settings.variant), **super()._own_options(settings, opening)}

    def _variant(self, variant: str) -> dict[str, OptionValue]:
        """Return the option that sets the variant.  Raises OptionRefused for one
        that the engine does not play."""
        if variant == "standard":
            return {}
        name: str = "UCI_Chess960" if variant == "chess960" else "UCI_Variant"
        option = self._declared(name)
        if option is None:
            raise OptionRefused(f"it has no option {name!r}, which {variant} needs")
        if name == "UCI_Chess960":
            return {option.name: True}
        if variant.casefold() not in (choice.casefold() for choice in option.choices):
            raise OptionRefused(f"option {name!r} cannot be {variant!r}, which it does not play")
        return {option.name: variant}

    def _ready_lines(self, options: list[str]) -> list[str]:
        return [*options, "ucinewgame"]

    def _go_command(self, limits: Limits, *, ponder: bool = False) -> bytes:
        return go_command(limits, ponder=ponder)


def go_command(limits: Limits, *, ponder: bool = False) -> bytes:
    """Return the `go` line for the limits, its newline included."""
    words = b"go ponder" if ponder else b"go"
    if limits.clock_ms is not None:
        if limits.increment_ms == (0, 0):
            words = b"%b wtime %d btime %d" % (words, *limits.clock_ms)
        else:
            numbers = (words, *limits.clock_ms, *limits.increment_ms)
            words = b"%b wtime %d btime %d winc %d binc %d" % numbers
        if limits.moves_to_go:
            words += b" movestogo %d" % limits.moves_to_go
    return words + move_limits(limits) + b"\n"
