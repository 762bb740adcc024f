"""The one count of games: results, faults, void and repeated games of two players.

Every game of every competition type is recorded in a tally.  The doubts of a verdict, and the
rule that ends a run of faults, come from here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import msgspec

from ringmaster.competitions.matchup_sprt import Trial
from ringmaster.competitions.result_lines import (
    VoidKinds,
    count_void,
    number_of,
    reasons_text,
    sum_void_kinds,
)
from ringmaster.errors import counted
from ringmaster.model.players import SECOND_SELF
from ringmaster.model.results import STANDSTILL, TIME_LOSSES, EvaluationResult, GameResult
from ringmaster.stats import elo
from ringmaster.stats.ladder import HandicapLadder


def base_code(code: str) -> str:
    """Return a player's code in the control file, also for its second self."""
    return code.removesuffix(SECOND_SELF)


class Pairs(msgspec.Struct):
    """Results by pairs of games with one opening and both colours.

    counts  pairs by the points of the first side: 0, ½, 1, 1½, 2
    half    points of pairs with one result, by the pair's number
    """

    counts: list[int] = msgspec.field(default_factory=lambda: [0, 0, 0, 0, 0])
    half: dict[str, float] = msgspec.field(default_factory=dict)

    def record_result(self, pair: int, points: float) -> None:
        """Count a game of a pair, in any order."""
        before = self.half.pop(str(pair), None)
        if before is None:
            self.half[str(pair)] = points
        else:
            self.counts[round(2 * (before + points))] += 1

    @property
    def games(self) -> int:
        """Counted games, including those of open pairs."""
        return 2 * sum(self.counts) + len(self.half)

    def turned(self) -> Pairs:
        """Return the results from the other side's view."""
        half = {pair: 1 - points for pair, points in self.half.items()}
        return Pairs(self.counts[::-1], half)


class Tally(msgspec.Struct):
    """Counted results of two players; its size does not depend on the number of games.

    The order of `players` never changes, whatever the control file's order.  Lists and
    the `b` of tickets refer to it.

    next           number of the next game
    by_colour      for each colouring (0: the first player moved first, 1: the second):
                   wins of the first player, wins of the second, draws, unknown results
    forfeit_kinds  games lost by a fault, by player and fault
    extra_moves    games in which a player sent moves without a search, by player
    disputes       games in which a player named another winner than the referee, by player
    unknown_kinds  games with an unknown result by reason
    cpu, timed     CPU seconds by player, and the number of games with a measurement
    pairs          the first player's results by pairs, where colours alternate
    void_kinds     void games by faulty player and reason
    endings        games by ending: {"mate": 12, "time": 1}
    trial          progress of a test that ends the games, None without one
    repeats        games with the same moves and colours as an earlier game
    levels         losses, halves and wins of the first player by level of a ladder
    """

    players: tuple[str, str]
    next: int = 0
    by_colour: list[list[int]] = msgspec.field(default_factory=lambda: [[0, 0, 0, 0], [0, 0, 0, 0]])
    forfeit_kinds: list[dict[str, int]] = msgspec.field(default_factory=lambda: [{}, {}])
    extra_moves: list[int] = msgspec.field(default_factory=lambda: [0, 0])
    disputes: list[int] = msgspec.field(default_factory=lambda: [0, 0])
    unknown_kinds: dict[str, int] = msgspec.field(default_factory=dict)
    cpu: list[float] = msgspec.field(default_factory=lambda: [0.0, 0.0])
    timed: list[int] = msgspec.field(default_factory=lambda: [0, 0])
    pairs: Pairs = msgspec.field(default_factory=Pairs)
    endings: dict[str, int] = msgspec.field(default_factory=dict)
    trial: Trial | None = None
    repeats: int = 0
    void_kinds: VoidKinds = msgspec.field(default_factory=dict)
    levels: dict[str, list[int]] = msgspec.field(default_factory=dict)

    def total(self, column: int) -> int:
        """Return a column of `by_colour`, both colourings together."""
        return self.by_colour[0][column] + self.by_colour[1][column]

    @property
    def completed(self) -> int:
        return sum(map(sum, self.by_colour))

    @property
    def known(self) -> int:
        return self.completed - self.total(3)

    @property
    def forfeits(self) -> list[int]:
        """Games lost by a fault, by player."""
        return [sum(kinds.values()) for kinds in self.forfeit_kinds]

    @property
    def void(self) -> int:
        return number_of(self.void_kinds)

    def points(self, player: int) -> float:
        """Return a player's (0, 1) wins plus half its draws."""
        return self.total(player) + self.total(2) / 2

    def record_result(
        self, result: GameResult, first_mover: int, pair: int | None, level: str | None = None
    ) -> None:
        """Count a result; `first_mover` is the player (0, 1) that moved first."""
        void = result.outcome == "void"
        seat = (0, 1) if first_mover == 0 else (1, 0)
        if void:
            count_void(self.void_kinds, result, [self.players[index] for index in seat])
            return
        ending = result.reason or "other"
        if result.winner is not None:
            column = seat[result.winner]
            if result.forfeit:
                _count(self.forfeit_kinds[1 - column], result.reason or "other")
        elif result.outcome == "draw":
            column = 2
        else:
            column = 3
            ending = ending if result.reason == "move limit" else "not scored"
            _count(self.unknown_kinds, ending)
        self.by_colour[first_mover][column] += 1
        self.repeats += result.repeats
        _count(self.endings, ending)
        for index, used in enumerate(result.usage):
            self.extra_moves[seat[index]] += used.extra_moves > 0
            self.disputes[seat[index]] += used.disputed
            if used.cpu_time is not None:
                self.cpu[seat[index]] += used.cpu_time
                self.timed[seat[index]] += 1
        if pair is not None:
            self.pairs.record_result(pair, result.points(seat.index(0)))
        if level is not None:
            counts = self.levels.setdefault(level, [0, 0, 0])
            counts[round(2 * result.points(seat.index(0)))] += 1

    @property
    def all_paired(self) -> bool:
        return self.pairs.games == self.completed

    @property
    def in_pairs(self) -> bool:
        """Return whether all games were played in pairs and have a result."""
        return sum(self.pairs.counts) > 0 and self.all_paired and self.known == self.completed

    def estimate(self) -> elo.EloEstimate:
        """Return the first player's Elo difference: by pairs where possible, else by games."""
        if self.in_pairs:
            return elo.from_counts(self.pairs.counts)
        return elo.from_games(self.total(0), self.total(2), self.total(1))

    def normalized(self) -> elo.NormalizedElo:
        """Return the first player's difference in normalised Elo."""
        if self.in_pairs:
            return elo.normalized(self.pairs.counts)
        return elo.normalized((self.total(1), self.total(2), self.total(0)))

    def counts_for(self, trial: Trial) -> list[int]:
        """Return a test's counts, from the worst result of its first player to the best.

        The counts are of complete pairs, games or levels.  An unknown result is half a point.
        """
        tally = self if self.players[0] == trial.first else self.turned()
        if isinstance(trial.test, HandicapLadder):
            return trial.test.counts(tally.levels, tally.players)
        if trial.in_pairs:
            return list(tally.pairs.counts)
        return [tally.total(1), tally.total(2) + tally.total(3), tally.total(0)]

    def turned(self) -> Tally:
        """Return the results from the second player's view."""
        return msgspec.structs.replace(
            self,
            players=self.players[::-1],
            by_colour=[[c[1], c[0], c[2], c[3]] for c in reversed(self.by_colour)],
            forfeit_kinds=self.forfeit_kinds[::-1],
            extra_moves=self.extra_moves[::-1],
            disputes=self.disputes[::-1],
            cpu=self.cpu[::-1],
            timed=self.timed[::-1],
            pairs=self.pairs.turned(),
            levels={level: counts[::-1] for level, counts in self.levels.items()},
        )


def added_up(players: tuple[str, str], tallies: Sequence[Tally]) -> Tally:
    """Return the sum of results of a player, or of two.

    tallies  with the first of `players`
    """
    total = Tally(players)
    for number, tally in enumerate(tallies):
        own = tally if tally.players[0] == players[0] else tally.turned()
        total.by_colour = [
            [a + b for a, b in zip(*rows, strict=True)]
            for rows in zip(total.by_colour, own.by_colour, strict=True)
        ]
        half = {f"{number}:{pair}": points for pair, points in own.pairs.half.items()}
        total.pairs.half.update(half)
        total.pairs.counts = [
            a + b for a, b in zip(total.pairs.counts, own.pairs.counts, strict=True)
        ]
    return total


#: Before the time control in keys of tallies.
AT = " at "


def tally_of(tallies: dict[str, Tally], players: tuple[str, str], control: str = "") -> Tally:
    """Return the tally of two players of a tune, made at their first game.

    control  time control of the games, "" for the players' own
    """
    return tallies.setdefault(" v ".join(players) + (control and AT + control), Tally(players))


def void_of(tallies: Iterable[Tally], contestant_of: Callable[[str], str] = str) -> VoidKinds:
    """Return the numbers of void games, by faulty contestant and reason."""
    by_player = (item for tally in tallies for item in tally.void_kinds.items())
    return sum_void_kinds([{contestant_of(code): kinds} for code, kinds in by_player])


def lost_of(tallies: Iterable[Tally], contestant_of: Callable[[str], str] = str) -> VoidKinds:
    """Return the numbers of games lost by a fault, by faulty contestant and reason."""
    # both sides of a tune may be one player
    by_side = (zip(tally.players, tally.forfeit_kinds, strict=True) for tally in tallies)
    sides = (item for both in by_side for item in both)
    return sum_void_kinds([{contestant_of(code): kinds} for code, kinds in sides])


def _count(kinds: dict[str, int], kind: str) -> None:
    kinds[kind] = kinds.get(kind, 0) + 1


# doubts

#: Results are doubted above this share of lost, void or repeated games, from FEW of them on;
#: games lost by a fault also from MANY games on.
SHARE, FEW, MANY = 0.02, 3, 20


class Doubt(msgspec.Struct, frozen=True):
    """A reason why results may not be what they seem.

    kind      "faults", "void games", "extra moves", "disputes", "repeats"
    player    code of the player at fault, "" for none
    count     games
    sentence  for users, without a full stop
    """

    kind: str
    player: str
    count: int
    sentence: str


def doubts_of(
    tallies: Iterable[Tally], contestant_of: Callable[[str], str] = base_code
) -> tuple[Doubt, ...]:
    """Return the doubts about results, the gravest first.

    contestant_of  returns the player in reports of a code of a tally
    """
    tallies = list(tallies)
    games: Counter[str] = Counter()
    extra: Counter[str] = Counter()
    disputes: Counter[str] = Counter()
    for tally in tallies:
        codes = [*map(contestant_of, tally.players)]
        games[""] += tally.completed
        for code in dict.fromkeys(codes):
            games[code] += tally.completed
            # of one player on both sides, the games of the side with more
            sides = [side for side in (0, 1) if codes[side] == code]
            extra[code] += max(tally.extra_moves[side] for side in sides)
            disputes[code] += max(tally.disputes[side] for side in sides)
    lost, void = lost_of(tallies, contestant_of), void_of(tallies, contestant_of)
    void.get("", {}).pop(STANDSTILL, None)
    doubts: list[tuple[float, Doubt]] = []

    def add(kind: str, player: str, count: int, total: int, sentence: str) -> None:
        few = 1 if kind == "faults" and total >= MANY else FEW
        if count >= few and count > SHARE * total:
            doubts.append((count / total, Doubt(kind, player, count, sentence)))

    for code, reasons in lost.items():
        count = sum(reasons.values())
        text = f"{code} lost {count} of {counted(games[code], 'game')} by faults"
        add("faults", code, count, games[code], f"{text} ({reasons_text(reasons)})")
    for code, reasons in void.items():
        count = sum(reasons.values())
        text = f"{counted(count, 'game')} replayed{code and f' by the fault of {code}'}"
        add("void games", code, count, games[code] + count, f"{text} ({reasons_text(reasons)})")
    for code, count in extra.items():
        text = f"{code} sent moves without a search in {count} of {counted(games[code], 'game')}"
        add("extra moves", code, count, games[code], text)
    for code, count in disputes.items():
        text = f"{code} names another winner than the referee in {count} of {games[code]} games"
        add("disputes", code, count, games[code], text)
    repeats = sum(tally.repeats for tally in tallies)
    text = f"{repeats} of {counted(games[''], 'game')} repeat an earlier one, move for move"
    add("repeats", "", repeats, games[""], text)
    return tuple(doubt for _, doubt in sorted(doubts, key=lambda pair: -pair[0]))


# the rule that ends a run of faults

#: Latest games that the rule looks at, first games, and attempts at one game.
LATEST, FIRST, ATTEMPTS = 20, 5, 12


def fault_rule(recent: str, unit: str = "games") -> str:
    """Return the reason to end a run, "" without one.

    recent  the latest games, oldest first: "1" for a fault, else "0"; at most LATEST
    unit    for the reason
    """
    count = recent.count("1")
    if FIRST <= count == len(recent) < LATEST:
        return f"the first {count} {unit} all ended by faults"
    return f"{count} of the last {LATEST} {unit} ended by faults" if 2 * count > LATEST else ""


class FaultWatch(msgspec.Struct):
    """The latest games of each player and series: whether a fault of a player ended them.

    A run that goes on after such games measures faults, not strength, for days.

    players  by code, the player's own faults, as in `fault_rule`
    series   by matchup ("" in a tune), faults of any player and of no player
    """

    players: dict[str, str] = {}
    series: dict[str, str] = {}

    def record(
        self, result: GameResult | EvaluationResult, codes: Sequence[str], series: str = ""
    ) -> str:
        """Count a result.  Return the reason to end the games of the series, "" without one.

        codes  players of a game, in the order of the result; the one player of an evaluation
        """
        void = result.outcome == "void"
        if void and result.reason == STANDSTILL:
            return ""
        faulty = 0 if isinstance(result, EvaluationResult) else result.faulty
        is_fault = void or (isinstance(result, GameResult) and result.forfeit)
        at_fault = codes[faulty] if is_fault and faulty is not None else None
        for code in dict.fromkeys(codes):
            _remember(self.players, code, code == at_fault)
        _remember(self.series, series, is_fault)
        if void and result.attempt + 1 >= ATTEMPTS:
            return f"{result.id} was void {result.attempt + 1} times"
        unit = "games" if isinstance(result, GameResult) else "evaluations"
        return fault_rule(self.series[series], unit) if is_fault else ""

    def clear(self) -> None:
        self.players.clear()
        self.series.clear()

    def stopped(self) -> list[str]:
        """Return the players whose latest games reach the rule."""
        return [code for code, recent in self.players.items() if fault_rule(recent)]


def _remember(recent: dict[str, str], key: str, fault: bool) -> None:
    recent[key] = (recent.get(key, "") + "01"[fault])[-LATEST:]


def remedies(reason: str, void: bool) -> list[str]:
    """Return the user's choices after faults with this reason.

    void  whether failures make games void, so that they could lose games instead
    """
    if reason in TIME_LOSSES:
        return ["give more time or a larger margin", "play fewer games at a time (-j)"]
    if reason == "referee":
        return ["repair the referee and run again", "name another one (referee)"]
    choices = ["repair the engine and run again"]
    if void:
        choices.append('have crashes and hangs lose the game (failures = "loss")')
    return choices
