"""mc_tuner: tune parameters as a bandit problem.

The candidates tile the space of the parameters.  UCB, or UCT with `max_depth` > 1, gives
most games to the winning candidates.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from ringmaster.competitions.competition import Played, Reaction, TunedOptions
from ringmaster.competitions.ending import ending_setting, endless_warning, is_endless, limit_of
from ringmaster.competitions.setting_types import optional
from ringmaster.competitions.tally import void_of
from ringmaster.competitions.tuning.candidates import (
    CANDIDATE_SETTINGS,
    PARAMETER_ARGUMENTS,
    CandidateParameter,
    CandidateState,
    CandidateTuner,
    Values,
    candidate_seat,
)
from ringmaster.competitions.tuning.function_probes import spread
from ringmaster.competitions.tuning.parameter_settings import SCALE, check_unchanged
from ringmaster.competitions.verdicts import games_of
from ringmaster.errors import SettingError, StoreError, counted
from ringmaster.model.canonical import canonical
from ringmaster.model.jobs import CheckJob, GameJob, Ticket
from ringmaster.model.parameters import Explicit
from ringmaster.model.players import Player
from ringmaster.model.report import RIGHT, Cell, ChartGroup, Progress, Report, Table, Text
from ringmaster.model.results import GameResult
from ringmaster.model.settings import Boolean, CallOf, Float, Integer, ListOf, Setting
from ringmaster.stats.elo import share_interval, wilson
from ringmaster.tuners.ucb import Node, Path, Ucb

#: Most candidates of one generation, to fit in memory and a tree log.
MOST_CANDIDATES = 100_000
#: Most generations: candidates of later ones would differ by rounding errors only, and the
#: state is nested JSON.
DEEPEST = 100
#: Number of cached players; make_candidate may be slow.
CACHED_PLAYERS = 5000
#: Probed optimiser parameters of each scale, over all generations.
PROBES = 1000
#: Most parts of a range in a probed generation.
FINEST = 2**60


class McParameter(CandidateParameter, frozen=True, kw_only=True):
    """A Parameter(…) of an mc_tuner control file."""

    function_name: ClassVar[str] = "scale"

    scale: Callable[[float], Any]
    split: int


PARAMETER = CallOf(
    "Parameter",
    (
        *PARAMETER_ARGUMENTS,
        Setting(
            "scale",
            SCALE,
            "Scale or function from an optimiser parameter (0 to 1) to an engine parameter.",
            change="played",
        ),
        Setting("split", Integer(minimum=1), "Number of samples of its range."),
    ),
    lambda values, context: McParameter(**values),
    positional=("code",),
)


class State(CandidateState, kw_only=True):
    """The state of the tuner.

    splits    of the parameters
    next      number of the next game; void games use up their numbers
    results   the candidates' wins, draws, losses, unknown results
    """

    splits: list[int]
    tree: dict[str, Any] = msgspec.field(default_factory=dict)
    next: int = 0
    results: list[int] = msgspec.field(default_factory=lambda: [0, 0, 0, 0])


class McTuner(CandidateTuner):
    """The `mc_tuner` competition type."""

    type_name: ClassVar[str] = "mc_tuner"
    _state: State
    parameters: tuple[McParameter, ...]
    no_draws: ClassVar[bool] = True
    table: ClassVar[tuple[Setting, ...]] = (
        *CANDIDATE_SETTINGS,
        Setting("parameters", ListOf(PARAMETER, minimum=1), "The parameters.", change="refused"),
        Setting(
            "exploration_coefficient",
            Float(minimum=0, maximum=1e6),
            "Weight of the exploration term, such as 0.45.",
        ),
        Setting(
            "initial_visits",
            Integer(minimum=1, maximum=10**9),
            "Assumed earlier games of every candidate.",
        ),
        Setting(
            "initial_wins", Integer(minimum=1, maximum=10**9), "Assumed wins among these games."
        ),
        Setting("max_depth", Integer(minimum=1), "Generations of candidates.", 1),
        Setting(
            "virtual_visits",
            Boolean(),
            "Count a game in progress as a visit without a win until its result arrives; without "
            "effect with one game at a time.",
            True,
        ),
        ending_setting("number_of_games", Integer(minimum=0), "Games to play"),
        Setting(
            "summary_spec",
            ListOf(Integer(minimum=0)),
            "Number of candidates to show for each generation, those with most games.",
            (30,),
            change="report",
        ),
        optional(
            "log_tree_to_history_period",
            Integer(minimum=1),
            "Number of games between dumps of the tree to the history and the tree log.",
            change="report",
        ),
        Setting(
            "number_of_running_simulations_to_show",
            Integer(minimum=0),
            "Number of games in progress to show on the display.",
            12,
            change="report",
        ),
    )

    def __init__(self, code: str, values: Mapping[str, Any]) -> None:
        super().__init__(code, values)
        self._is_endless = is_endless(values, "number_of_games")
        self.values = {**values, "number_of_games": limit_of(values, "number_of_games")}
        splits = [p.split for p in self.parameters]
        if math.prod(splits) > MOST_CANDIDATES:
            raise SettingError(
                ("parameters",),
                f"the splits make {math.prod(splits):,} candidates",
                f"at most {MOST_CANDIDATES:,}",
            )
        self.tree = Ucb(
            splits,
            exploration_coefficient=values["exploration_coefficient"],
            initial_visits=values["initial_visits"],
            initial_wins=values["initial_wins"],
            max_depth=min(values["max_depth"], DEEPEST),
            virtual=values["virtual_visits"],
            seed=values["seed"],
        )
        # probes every scale before the first game
        self._samples = [self._first_samples(i) for i in range(len(splits))]
        self._state = State(codes=[p.code for p in self.parameters], splits=splits)
        self._player = functools.lru_cache(CACHED_PLAYERS)(self._new_player)
        #: Nodes of the games in progress, by number.
        self._flying: dict[int, Path] = {}
        self._specimen = self.candidate("candidate", self._values((0,)))

    def _sample(self, index: int) -> float:
        return 0.5 / self.parameters[index].split

    def _first_samples(self, index: int) -> list[Any]:
        """Return a parameter's values in the first generation.

        Raises SettingError for a scale with varying results.
        """
        split = self.parameters[index].split
        inputs = [(2 * place + 1) / (2 * split) for place in range(split)]
        values = [self._engine_value(index, f) for f in inputs]
        for f, value in zip(inputs, values, strict=True):
            if canonical(self._engine_value(index, f)) != canonical(value):
                raise SettingError(
                    ("parameters", index, "scale"),
                    f"called twice with ({f!r}), it returned different values",
                    "a function of its argument alone",
                )
        return values

    def _probes(self, index: int) -> list[float]:
        split = self.parameters[index].split
        depths = min(self.tree.max_depth, PROBES // 2)
        probes: set[float] = set()
        for depth in range(1, depths + 1):
            size = split**depth
            if size > FINEST:
                break
            places = spread(size, PROBES // depths)
            probes |= {(2 * place + 1) / (2 * size) for place in places}
        return sorted(probes)

    def _point(self, ticket: Ticket) -> Sequence[float]:
        return self.tree.centre(tuple(ticket["p"]))

    def _values(self, path: Path) -> Values:
        """Return a node's engine parameters, with `Failed` for failing scales."""
        if len(path) > 1:
            return self.values_to_show(self.tree.centre(path))
        places = self.tree.coordinates(path[0])
        return tuple(row[p] for row, p in zip(self._samples, places, strict=True))

    def _text(self, path: Path) -> str:
        return self.formatted(self._values(path))

    def _steps(self, path: Path) -> str:
        """Return a node's path from the root: "(0,1) (3,2)"."""
        places = [",".join(map(str, self.tree.coordinates(child))) for child in path]
        return " ".join(f"({place})" for place in places)

    def _new_player(self, path: Path) -> Player:
        return self.candidate(self._code(path), self.engine_values(self.tree.centre(path)))

    def _code(self, path: Path) -> str:
        return "candidate" + self._steps(path).replace(" ", "")

    def _warnings(self) -> list[str]:
        values = self.values
        lines = super()._warnings()
        if self._is_endless:
            lines.append(endless_warning("number_of_games"))
        if values["initial_wins"] > values["initial_visits"]:
            lines.append("initial_wins is more than initial_visits")
        total, games = self.tree.size, values["number_of_games"]
        if games and games < total:
            lines.append(
                f"too few games ({games:,}) to try each of {counted(total, 'candidate')} once"
            )
        if len(values["summary_spec"]) > values["max_depth"]:
            lines.append("summary_spec has more entries than there are generations (max_depth)")
        for parameter, row in zip(self.parameters, self._samples, strict=True):
            scale = parameter.scale
            if isinstance(scale, Explicit) and parameter.split % len(scale.values):
                lines.append(
                    f"parameter {parameter.code!r}: split {parameter.split} does not give each of "
                    f"the {len(scale.values)} values of EXPLICIT an equal share"
                )
            elif len({msgspec.json.encode(canonical(value)) for value in row}) < len(row):
                lines.append(f"parameter {parameter.code!r}: some of its samples are the same")
        return lines

    @property
    def _most_games_of_candidate(self) -> int | None:
        limit: int | None = self.values["number_of_games"]
        return limit

    def _corners(self) -> tuple[Values, Values]:
        """Return the candidates with the lowest and the highest values at the first level."""
        first, last = (self._values((child,)) for child in (0, self.tree.size - 1))
        return first, last

    def _check_jobs(self) -> list[CheckJob]:
        return self.candidate_checks(self._corners())

    def _tuned_options(self) -> TunedOptions | None:
        return self.options_between(*self._corners())

    # issuing

    def next_job(self) -> GameJob | None:
        limit = self.values["number_of_games"]
        number = self._state.next
        if limit is not None and number >= limit:
            return None
        path, expanded = self.tree.choose(number)
        ticket: Ticket = {"n": number, "p": list(path), "s": candidate_seat(self.values, number)}
        if expanded:
            ticket["e"] = [self.tree.initial_visits, self.tree.initial_wins]
        try:
            job = self.make_job(str(number), 0, ticket)
        except SettingError:
            # a function of the control file failed
            self.tree.withdraw(path)
            raise
        self._flying[number] = path
        self._state.next = number + 1
        return job

    def resume(self, ticket: Ticket) -> bool:
        number, path = ticket["n"], tuple(ticket["p"])
        self._state.next = max(self._state.next, number + 1)
        limit = self.values["number_of_games"]
        if limit is not None and number >= limit:
            return False
        if number not in self._flying:
            self.tree.resume(path, _initial(ticket))
            self._flying[number] = path
        return True

    def make_job(self, game_id: str, attempt: int, ticket: Ticket) -> GameJob:
        path = tuple(ticket["p"])
        candidate = self._player(path), self._values(path)
        return self.candidate_job(game_id, attempt, ticket, ticket["n"], candidate)

    def describe(self, ticket: Ticket) -> Played:
        path = tuple(ticket["p"])
        return self.played(ticket, self._code(path), self._values(path))

    # learning

    def record_result(self, ticket: Ticket, result: GameResult) -> Reaction:
        state = self._state
        number, path, seat = ticket["n"], tuple(ticket["p"]), ticket["s"]
        state.next = max(state.next, number + 1)
        flying = self._flying.pop(number, None) is not None
        void_line, halt = self.count_game(result, seat, self._code(path))
        if result.outcome == "void":
            # its expansion of the tree stays
            self.tree.grow(path, _initial(ticket))
            if flying:
                self.tree.withdraw(path)
            # its number is not played again (Gomill)
            return Reaction(void_line, halt=halt)
        # a game of unknown result counts as a loss (Gomill)
        points = result.points(seat) if result.outcome != "unknown" else 0.0
        self.tree.tell(path, points, flying=flying, initial=_initial(ticket))
        column = {1.0: 0, 0.5: 1, 0.0: 2}[points] if result.outcome != "unknown" else 3
        state.results[column] += 1
        best = self.tree.best()
        line = (
            f"{self.outcome_line(result, seat, self._full(path))}; "
            f"best {self._full(best)} {self.tree.node(best).value:.3f}"
        )
        period = self.values["log_tree_to_history_period"]
        if period is None or self.tree.games % period:
            return Reaction(line, halt=halt)
        notes = tuple(self._tree_lines())
        return Reaction(line, halt=halt, notes=notes, snapshot=self._snapshot())

    def _full(self, path: Path) -> str:
        return f"{self._text(path)} [{self._steps(path)}]"

    def finished(self) -> bool:
        limit = self.values["number_of_games"]
        return limit is not None and self._state.next >= limit and not self._flying

    # state

    def state(self) -> dict[str, Any]:
        self._state.tree = self.tree.state()
        return super().state()

    def restore(self, state: Mapping[str, Any]) -> None:
        restored = msgspec.convert(state, State)
        present = self._state
        was, now = (
            [f"{code}/{split}" for code, split in zip(each.codes, each.splits, strict=True)]
            for each in (restored, present)
        )
        check_unchanged(was, now)
        try:
            self.tree.restore(restored.tree)
        except (ValueError, KeyError, TypeError) as error:
            raise StoreError(f"the tree in the status file cannot be read: {error}") from error
        self._state = restored
        self._flying.clear()

    # reports

    @property
    def _games(self) -> int:
        return self.tree.games

    def _progress(self) -> Progress:
        void, _ = void_of(self._state.tallies.values())
        return Progress(self.tree.games + void, self.values["number_of_games"])

    def _verdict(self) -> str:
        best = self.tree.node(self.tree.best())
        if not best.points:
            limit = None if self.finished() else self.values["number_of_games"]
            yet = "" if self.finished() else " yet"
            games = games_of(self.tree.games, limit)
            return f"no win{yet} of {counted(self.tree.size, 'candidate')}, after {games}"
        shown = self.brief(self._values(best.path))
        share = share_interval(best.points, best.games)
        is_best = "came out best" if self.finished() else "is best so far"
        return f"{shown} {is_best}: {share} of {counted(best.games, 'game')}"

    def _full_report(self) -> Report:
        return Report((*self._main_blocks(), self.conditions()))

    def _live_report(self) -> Report:
        blocks = self._main_blocks()
        shown = sorted(self._flying.items())[: self.values["number_of_running_simulations_to_show"]]
        if shown:
            lines = [f"game {number}: {self._full(path)}" for number, path in shown]
            blocks.append(Text(("in progress:", *lines)))
        return Report(tuple(blocks))

    def _main_blocks(self) -> list[Table | Text]:
        wins, draws, losses, unknown = self._state.results
        limit = self.values["number_of_games"]
        total = "" if limit is None else f"{self.tree.games}/"
        games = counted(self.tree.games if limit is None else limit, "game")
        parts = [
            counted(wins, "win"),
            counted(draws, "draw") if draws else "",
            counted(losses, "loss"),
        ]
        tally = ", ".join(filter(None, parts))
        if unknown:
            tally += f", {counted(unknown, 'unknown result')} (counted as losses)"
        best = self.tree.node(self.tree.best())
        lines = [f"{total}{games} played: {tally} of the candidates"]
        if best.games:
            low, high = wilson(best.points, best.games)
            lines.append(
                f"best: {self._full(best.path)}: {best.points / best.games:.1%} of "
                f"{counted(best.games, 'game')} (95 %: {low:.1%} to {high:.1%})"
            )
        blocks: list[Table | Text] = [Text(tuple(lines))]
        for depth, count in enumerate(self.values["summary_spec"], 1):
            nodes = [n for n in self.tree.nodes(depth) if len(n.path) == depth]
            if nodes and count:
                nodes.sort(key=lambda node: (-node.games, node.path))
                blocks.append(self._table(depth, nodes[:count]))
        return blocks

    def _table(self, depth: int, nodes: list[Node]) -> Table:
        rows: list[tuple[Cell, ...]] = [
            (self._steps(n.path), self._text(n.path), f"{n.value:.3f}", n.games) for n in nodes
        ]
        return Table(
            headers=("candidate", "parameters", "win rate", "games"),
            rows=tuple(rows),
            title=f"most visited at depth {depth}",
            notes=("win rates with the initial visits, games without",),
            align=("left", "left", RIGHT, RIGHT),
        )

    def _tree_lines(self) -> list[str]:
        """Return the first two generations of the tree for the history, in Gomill's form."""
        games, points = self.tree.games, self.tree.points
        rate = f"{points / games:.3f}" if games else "--"
        lines = [f"{self.tree.node_count()} nodes", f"Win rate {points:g}/{games} = {rate}"]
        for node in self.tree.nodes(2):
            indent = "  " * len(node.path)
            lines.append(
                f"{indent}{self._steps(node.path[-1:])} {self._text(node.path)} "
                f"{node.value:.3f} {node.games:3d}"
            )
        return lines

    def _snapshot(self) -> str:
        """Return the whole tree as a line of JSON for the tree log."""
        nodes = [
            {
                "path": [list(self.tree.coordinates(child)) for child in node.path],
                "parameters": self.named(self._values(node.path)),
                "games": node.games,
                "points": node.points,
                "visits": node.visits,
                "wins": node.wins,
                "value": node.value,
                "exploration": node.exploration,
            }
            for node in self.tree.nodes()
        ]
        best = self.tree.best()
        snapshot = {
            "games": self.tree.games,
            "points": self.tree.points,
            "best": [list(self.tree.coordinates(child)) for child in best],
            "nodes": nodes,
        }
        return msgspec.json.encode(snapshot).decode()

    def _json_data(self) -> dict[str, Any]:
        best = self.tree.best()
        return {
            "repeats": sum(t.repeats for t in self._state.tallies.values()),
            "best": self._summary_of(self.tree.node(best)),
            "candidates": [self._summary_of(node) for node in self.tree.nodes()],
        }

    def charts(self, history: Iterable[tuple[Ticket, GameResult]]) -> list[ChartGroup]:
        # imports numpy, which takes 0.1 s
        from ringmaster.competitions.tuning.mc_charts import McCharts

        charts = McCharts(
            self.tree,
            self._state.codes,
            self._samples,
            self._values,
            self._text,
            self.opponent.code,
        )
        for ticket, result in history:
            charts.record_result(ticket, result)
        return charts.charts()

    def _summary_of(self, node: Node) -> dict[str, Any]:
        low, high = wilson(node.points, node.games)
        return {
            "candidate": self._code(node.path),
            "parameters": self.named(self._values(node.path)),
            "games": node.games,
            "points": node.points,
            "win_rate": node.points / node.games if node.games else None,
            "interval": [low, high],
            "value": node.value,
        }


def _initial(ticket: Ticket) -> tuple[int, float] | None:
    """Return initial visits and wins of a generation expanded for a game, else None."""
    expanded = ticket.get("e")
    return None if expanded is None else (expanded[0], expanded[1])
