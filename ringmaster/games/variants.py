"""Chess variants by the rules of Fairy-Stockfish (pyffish, in the extra `variants`).

pyffish stores no position: each call gets the start and the moves, and takes about 2
milliseconds to set up the variant.  A ply therefore needs few calls: legal moves, endings by
the variant's rules, and the position.  Other endings are looked up only after a repetition,
a capture, or many quiet plies.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType

from ringmaster.errors import IllegalMove, cut, similar
from ringmaster.games.clean_text import one_line, shown
from ringmaster.games.game import Ending, Game

#: Variants that do not need pyffish.
OWN = ("standard", "chess960")

#: pyffish's names for `OWN`, and games that two engines cannot play on one board.
_NOT_OFFERED = {"chess", "normal", "fairy", "fischerandom", "bughouse", "koedem", "supply"}

#: Names of Chess960 and of chess in game records.
_CHESS960 = frozenset(("chess960", "fischerandom", "fischerrandom", "freestyle"))
_STANDARD = frozenset(("", "standard", "chess", "normal", "classical", "fromposition"))

#: Variants with repetition and a move count as the only optional endings: these need no
#: call at every ply.
_PLAIN_ENDINGS = frozenset(
    (
        *("3check", "5check", "antichess", "atomic", "capablanca", "capahouse", "crazyhouse"),
        *("extinction", "giveaway", "gothic", "grand", "horde", "kingofthehill", "losers"),
        *("minixiangqi", "nocheckatomic", "racingkings", "seirawan", "shouse", "suicide"),
        *("threekings", "xiangqi"),
    )
)
#: Plies without a capture after which a move count may end a game.
_QUIET = 16


def variant_names() -> tuple[str, ...]:
    """Return the names of all variants, `OWN` first.

    Raises ValueError where pyffish is not installed.
    """
    return (*OWN, *(v for v in _pyffish().variants() if v not in _NOT_OFFERED))


def check_variant(name: str) -> None:
    """Raise ValueError, with a remedy, for a name that is not a playable variant."""
    if name in OWN:
        return
    if name in _NOT_OFFERED:
        better = {"chess": "standard", "normal": "standard", "fischerandom": "chess960"}.get(name)
        raise ValueError(
            f"variant {name!r} is called {better!r} here"
            if better
            else f"variant {name!r} cannot be played by two engines on one board"
        )
    names = variant_names()
    if name not in names:
        close = similar(re.sub(r"[\W_]", "", name), names)
        nearest = f"the nearest {'is' if len(close) == 1 else 'are'} {', '.join(close)}"
        others = "there are standard, chess960, crazyhouse, xiangqi and others"
        raise ValueError(f"there is no variant {name!r}; {nearest if close else others}")


def check_variant_tag(tag: str, variant: str) -> None:
    """Raise ValueError where the tag of a game record names another variant."""
    played = re.sub(r"[\s_-]", "", tag.casefold())
    if variant == "standard" and played not in _STANDARD:
        right = "chess960" if played in _CHESS960 else tag
        raise ValueError(f"this is a game of {shown(tag)}; expected variant = {right!r}")
    if variant == "chess960" and played not in _CHESS960 | _STANDARD:
        raise ValueError(f"this is a game of {shown(tag)}, not of Chess960")


def _pyffish() -> ModuleType:
    try:
        import pyffish
    except ImportError:
        raise ValueError(
            "variants other than Chess960 need pyffish, which is not installed: "
            "pip install 'ringmaster-engines[variants]'"
        ) from None
    module: ModuleType = pyffish
    return module


class VariantGame(Game):
    """A game of a variant.  White is FEN's side w, also where the variant calls it red."""

    colours = ("white", "black")

    __slots__ = (
        "_ending",
        "_fen",
        "_legal",
        "_pieces",
        "_quiet",
        "_seen",
        "_side",
        "_start_fen",
        "_variant",
    )

    def __init__(self, variant: str, fen: str | None = None) -> None:
        """Start from `fen`, in pyffish's form, or the variant's usual position.

        Raises ValueError for a variant that `check_variant` refuses, or an invalid FEN.
        """
        super().__init__()
        check_variant(variant)
        rules = _pyffish()
        if fen is None:
            fen = str(rules.start_fen(variant))
        else:
            # imports cozy_chess, which `show` does not need
            from ringmaster.games.chess import with_counters

            fen = with_counters(fen)
            with _stderr_lines() as printed:
                valid = rules.validate_fen(fen, variant) == rules.FEN_OK
            if not valid:
                fault = one_line(printed[0], 200).rstrip(".") if printed else ""
                fault = fault[:1].lower() + fault[1:]
                raise ValueError(fault or f"this is not a position of {variant}")
        self._variant = variant
        self._start_fen = fen
        self._seen: Counter[str] = Counter()
        self._pieces = ""
        self._quiet = 0
        self._update()

    @property
    def to_move(self) -> int:
        return self._side

    def play(self, move: str) -> None:
        if move not in self._legal:
            raise IllegalMove(cut(move, 40), self._fen, self._why_illegal(move))
        self.moves.append(move)
        self._update()

    def ending(self) -> Ending | None:
        return self._ending

    def position(self) -> str:
        return self._fen

    def in_check(self) -> bool:
        return bool(_pyffish().gives_check(self._variant, self._fen, []))

    def from_san(self, san: str) -> str:
        """Return the legal move that `san` means.  Raises ValueError with the end of a sentence."""
        rules, wanted = _pyffish(), _bare(san)
        # the SAN of a move costs 2 ms: only moves to the same square are compared
        squares = re.findall("[a-l][0-9]{1,2}", wanted)
        matching = [
            move
            for move in self._legal
            if (not squares or squares[-1] in move)
            and wanted
            == _bare(rules.get_san(self._variant, self._fen, move, False, rules.NOTATION_SAN))
        ]
        if not matching and san in self._legal:
            matching = [san]
        if len(matching) != 1:
            raise ValueError("is ambiguous" if matching else "is not legal here")
        return matching[0]

    def _update(self) -> None:
        """Compute position, legal moves and ending after a move."""
        rules, variant, fen, moves = _pyffish(), self._variant, self._start_fen, self.moves
        self._fen = str(rules.get_fen(variant, fen, moves, False, False, True))
        board, turn, *rest = self._fen.split()
        self._side = 0 if turn == "w" else 1
        # all but the two counters at the end
        key = " ".join((board, turn, *rest[:-2]))
        self._seen[key] += 1
        repeated = self._seen[key] > 1
        pieces = "".join(sorted(filter(str.isalpha, board)))
        changed = pieces != self._pieces
        self._pieces = pieces
        clock = int(rest[-2]) if len(rest) > 1 and rest[-2].isdecimal() else 0
        self._quiet = max(clock, 0 if changed else self._quiet + 1)
        self._legal: dict[str, None] = dict.fromkeys(rules.legal_moves(variant, fen, moves))
        self._ending = self._find_ending(repeated=repeated, changed=changed)

    def _find_ending(self, *, repeated: bool, changed: bool) -> Ending | None:
        rules, variant, fen, moves = _pyffish(), self._variant, self._start_fen, self.moves
        over, value = rules.is_immediate_game_end(variant, fen, moves)
        if over:
            return self._by_value(value, "variant rules")
        if not self._legal:
            value = rules.game_result(variant, fen, moves)
            checked = rules.gives_check(variant, fen, moves)
            return self._by_value(value, "mate" if checked and value else "stalemate")
        if changed and all(rules.has_insufficient_material(variant, fen, moves)):
            return Ending(None, "material")
        if repeated or self._quiet >= _QUIET or variant not in _PLAIN_ENDINGS:
            over, value = rules.is_optional_game_end(variant, fen, moves)
            if over:
                return self._by_value(value, "repetition" if repeated else "move rule")
        return None

    def _by_value(self, value: int, reason: str) -> Ending:
        """Return the ending with pyffish's value for the side to move."""
        if value == 0:
            return Ending(None, reason)
        return Ending(self._side if value > 0 else 1 - self._side, reason)

    def _why_illegal(self, move: str) -> str:
        if not re.fullmatch(r"[A-Za-z0-9@+,]{2,12}", move):
            return f"not a move in the notation of {self._variant} engines"
        return f"the rules of {self._variant} do not allow it"


def san_moves(variant: str, fen: str | None, moves: Sequence[str]) -> list[str]:
    """Return moves in algebraic notation, up to the first illegal one.

    Raises ValueError for a variant that `check_variant` refuses, or an invalid FEN.
    """
    here = VariantGame(variant, fen).position()
    rules = _pyffish()
    sans = []
    for move in moves:
        # pyffish crashes on illegal moves.  One position at a time, or the cost would grow
        # with the square of the number of moves
        if move not in rules.legal_moves(variant, here, []):
            break
        sans.append(str(rules.get_san(variant, here, move, False, rules.NOTATION_SAN)))
        here = str(rules.get_fen(variant, here, [move]))
    return sans


def _bare(san: str) -> str:
    """Return SAN without check and merit marks, and with the letter of a dropped pawn."""
    bare = san.rstrip("+#!?").replace("=", "").replace("0-0", "O-O").replace("O-0", "O-O")
    return f"P{bare}" if bare.startswith("@") else bare


@contextmanager
def _stderr_lines() -> Iterator[list[str]]:
    """Catch the lines that pyffish writes to the standard error.

    pyffish reports the fault of a FEN in no other way.
    """
    lines: list[str] = []
    sys.stderr.flush()
    stderr = os.dup(2)
    try:
        with tempfile.TemporaryFile() as file:
            os.dup2(file.fileno(), 2)
            try:
                yield lines
            finally:
                os.dup2(stderr, 2)
                file.seek(0)
                lines += file.read(2000).decode(errors="replace").splitlines()
    finally:
        os.close(stderr)
