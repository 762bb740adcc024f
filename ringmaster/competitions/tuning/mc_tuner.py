"""mc_tuner: tune parameters as a bandit problem.

The candidates tile the space of the parameters.  UCB, or UCT with `max_depth` > 1, gives
most games to the winning candidates.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

import msgspec

from ringmaster.competitions.competition import Reaction
from ringmaster.competitions.setting_types import ending_setting, flag, optional
from ringmaster.competitions.tuning.candidates import (
    CANDIDATE,
    CANDIDATE_COLUMNS,
    CANDIDATE_SETTINGS,
    PARAMETER_ARGUMENTS,
    GomillTune,
    as_data,
    candidate_seat,
)
from ringmaster.competitions.tuning.parameter_binding import CandidateParameter, spread
from ringmaster.competitions.tuning.parameter_settings import SCALE, ValuesByCode, check_unchanged
from ringmaster.competitions.tuning.player_tune import GameTuneState
from ringmaster.competitions.verdicts import games_of
from ringmaster.errors import SettingError, counted
from ringmaster.model.canonical import canonical
from ringmaster.model.jobs import Task, Ticket
from ringmaster.model.parameters import Explicit
from ringmaster.model.report import ChartGroup, Column, Listing, Progress, Table, Text
from ringmaster.model.results import GameResult
from ringmaster.model.settings import CallOf, Context, Float, Integer, ListOf, Setting
from ringmaster.stats.elo import share_ends, share_interval, wilson
from ringmaster.stats.shrinkage import chosen_share
from ringmaster.tuners.ucb import Node, Path, Ucb

#: Most candidates of one generation, to fit in memory and a tree log.
MOST_CANDIDATES = 100_000
#: Most generations: candidates of later ones would differ by rounding errors only, and the
#: state is nested JSON.
DEEPEST = 100
#: Probed optimiser parameters of each scale, over all generations.
PROBES = 1000
#: Most parts of a range in a probed generation.
FINEST = 2**60


class McParameter(CandidateParameter, frozen=True, kw_only=True):
    """A Parameter(…) of an mc_tuner control file; its scale is the transform."""

    function_name: ClassVar[str] = "scale"

    split: int

    def canonical(self) -> dict[str, Any]:
        names = ("code", "format", "option", "split")
        return {**{name: getattr(self, name) for name in names}, "scale": self.transform}


def _build_parameter(values: dict[str, Any], context: Context) -> McParameter:
    # the centres of the first and the last part of the range
    first = 0.5 / values["split"]
    scale = values.pop("scale")
    return McParameter(start=first, minimum=first, maximum=1 - first, transform=scale, **values)


GAMES = Integer(minimum=1, maximum=10**9)
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
    _build_parameter,
    positional=("code",),
)


class State(GameTuneState, kw_only=True):
    codes: list[str]
    splits: list[int]
    tree: dict[str, Any] = msgspec.field(default_factory=dict)
    #: Number of the next game; void games use up their numbers.
    next: int = 0


_COLUMNS = (
    *CANDIDATE_COLUMNS,
    Column("value", "win rate", "{:.3f}".format),
    Column("games", "games", int),
    Column("points"),
    Column("win_rate"),
    Column("interval"),
)


class McTuner(GomillTune):
    type_name: ClassVar[str] = "mc_tuner"
    _state: State
    parameters: tuple[McParameter, ...]
    table: ClassVar[tuple[Setting, ...]] = (
        *CANDIDATE_SETTINGS,
        Setting("parameters", ListOf(PARAMETER, minimum=1), "The parameters.", change="refused"),
        Setting(
            "exploration_coefficient",
            Float(minimum=0, maximum=1e6),
            "Weight of the exploration term, such as 0.45.",
        ),
        Setting("initial_visits", GAMES, "Assumed earlier games of a candidate.", change="new"),
        Setting("initial_wins", GAMES, "Assumed wins among these games.", change="new"),
        Setting("max_depth", Integer(minimum=1), "Generations of candidates.", 1),
        flag(
            "virtual_visits",
            "Count a game in progress as a visit without a win in both terms until its result "
            "arrives; without effect with one game at a time.",
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
        splits = [p.split for p in self.parameters]
        self.tree = Ucb(
            splits,
            exploration_coefficient=values["exploration_coefficient"],
            initial_visits=values["initial_visits"],
            initial_wins=values["initial_wins"],
            max_depth=min(values["max_depth"], DEEPEST),
            virtual=values["virtual_visits"],
            seed=values["seed"],
        )
        self._set_player(counted="games")
        #: By parameter: its values in the first generation.
        self.samples = [self._first_samples(i) for i in range(len(splits))]
        self._state = State(codes=[p.code for p in self.parameters], splits=splits)
        #: Nodes of the games in progress, by number.
        self._flying: dict[int, Path] = {}

    def _wrong_settings(self) -> Iterator[SettingError]:
        yield from super()._wrong_settings()
        candidates = math.prod(p.split for p in self.parameters)
        if candidates > MOST_CANDIDATES:
            text = f"the splits make {candidates:,} candidates"
            yield SettingError(("parameters",), text, f"at most {MOST_CANDIDATES:,}")

    def _first_samples(self, index: int) -> list[Any]:
        """Return a parameter's first values.  Raises SettingError for a scale that varies."""
        split = self.parameters[index].split
        inputs = [(2 * place + 1) / (2 * split) for place in range(split)]
        values = [self._binding.transformed(index, f) for f in inputs]
        for f, value in zip(inputs, values, strict=True):
            if canonical(self._binding.transformed(index, f)) != canonical(value):
                text = f"called twice with ({f!r}), it returned different values"
                expected = "a function of its argument alone"
                raise SettingError(("parameters", index, "scale"), text, expected)
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

    def estimated(self) -> ValuesByCode:
        return self._by_code(self.tree.centre(self.tree.best()))

    def _side_values(self, ticket: Ticket, side: str) -> ValuesByCode:
        return self._by_code(self.tree.centre(tuple(ticket["p"])))

    def engine(self, path: Path) -> dict[str, Any]:
        """Return a node's engine parameters, with `FailedValue` for failing scales."""
        if len(path) > 1:
            return self.engine_values(self._by_code(self.tree.centre(path)))
        places = self.tree.coordinates(path[0])
        row = zip(self._state.codes, self.samples, places, strict=True)
        return {code: samples[place] for code, samples, place in row}

    def text(self, path: Path) -> str:
        return self.formatted(self.engine(path))

    def _steps(self, path: Path) -> str:
        """Return a node's path from the root: "(0,1) (3,2)"."""
        places = [",".join(map(str, self.tree.coordinates(child))) for child in path]
        return " ".join(f"({place})" for place in places)

    def _code(self, path: Path) -> str:
        return CANDIDATE + self._steps(path).replace(" ", "")

    def _suffix(self, ticket: Ticket) -> str:
        return self._code(tuple(ticket["p"])).removeprefix(CANDIDATE)

    def _game_number(self, ticket: Ticket) -> int:
        return int(ticket["n"])

    def _warnings(self) -> list[str]:
        values = self.values
        lines = super()._warnings()
        if values["initial_wins"] > values["initial_visits"]:
            lines.append("initial_wins is more than initial_visits")
        total, games = self.tree.size, self._limit
        if games and games < total:
            lines.append(
                f"too few games ({games:,}) to try each of {counted(total, 'candidate')} once"
            )
        if len(values["summary_spec"]) > values["max_depth"]:
            lines.append("summary_spec has more entries than there are generations (max_depth)")
        for parameter, row in zip(self.parameters, self.samples, strict=True):
            scale = parameter.transform
            if isinstance(scale, Explicit) and parameter.split % len(scale.values):
                lines.append(
                    f"parameter {parameter.code!r}: split {parameter.split} does not give each of "
                    f"the {len(scale.values)} values of EXPLICIT an equal share"
                )
            elif len({msgspec.json.encode(canonical(value)) for value in row}) < len(row):
                lines.append(f"parameter {parameter.code!r}: some of its samples are the same")
        return lines

    def _samples_to_check(self) -> Mapping[str, ValuesByCode]:
        last = self.tree.centre((self.tree.size - 1,))
        return {"start": self.start_values, "last": self._by_code(last)}

    # issuing

    def next_job(self) -> Task | None:
        number = self._state.next
        if not self._wants(number):
            return None
        path, expanded = self.tree.choose(number)
        ticket: Ticket = {"n": number, "p": list(path), "s": candidate_seat(self.values, number)}
        if expanded:
            ticket["e"] = [self.tree.initial_visits, self.tree.initial_wins]
        self._flying[number] = path
        try:
            return self._issue(str(number), ticket)
        except SettingError:
            # a function of the control file failed
            del self._flying[number]
            self.tree.withdraw(path)
            raise

    def _register_of_tune(self, ticket: Ticket) -> bool:
        number, path = ticket["n"], tuple(ticket["p"])
        self._state.next = max(self._state.next, number + 1)
        if not self._wants(number):
            return False
        if number not in self._flying:
            self.tree.resume(path, initial_of(ticket))
            self._flying[number] = path
        return True

    # learning

    def _record_of_tune(self, ticket: Ticket, result: GameResult) -> Reaction:
        reaction = super()._record_of_tune(ticket, result)
        if result.outcome == "void":
            # its expansion of the tree stays, and its number is not played again (Gomill)
            path = tuple(ticket["p"])
            self.tree.grow(path, initial_of(ticket))
            if self._flying.pop(ticket["n"], None) is not None:
                self.tree.withdraw(path)
        return msgspec.structs.replace(reaction, replay=False)

    def _name(self, ticket: Ticket) -> str:
        return self._full(tuple(ticket["p"]))

    def _learn(self, ticket: Ticket, result: GameResult, line: str) -> Reaction:
        path = tuple(ticket["p"])
        flying = self._flying.pop(ticket["n"], None) is not None
        self.tree.tell(path, points_of(ticket, result), flying=flying, initial=initial_of(ticket))
        best = self.tree.best()
        line += f"; best {self._full(best)} {self.tree.node(best).value:.3f}"
        period = self.values["log_tree_to_history_period"]
        if period is None or self.tree.games % period:
            return Reaction(line)
        return Reaction(line, notes=tuple(self._tree_lines()), snapshot=self._snapshot())

    def _full(self, path: Path) -> str:
        return f"{self.text(path)} [{self._steps(path)}]"

    @property
    def is_tuned(self) -> bool:
        return not self._wants(self._state.next) and not self._flying

    # state

    def state(self) -> dict[str, Any]:
        self._state.tree = self.tree.state()
        return super().state()

    def restore(self, state: Mapping[str, Any]) -> None:
        restored = msgspec.convert(state, State)
        was, now = (
            list(map("{}/{}".format, each.codes, each.splits)) for each in (restored, self._state)
        )
        check_unchanged(was, now)
        self.tree.restore(restored.tree)
        self._state = restored
        self._flying.clear()

    # reports

    def _progress(self) -> Progress:
        return Progress(self._games + self.tally.void, self._limit)

    def _work_done(self) -> str:
        return games_of(self.tree.games, None if self.is_tuned else self._limit)

    def _verdict(self) -> str:
        best = self.tree.node(self.tree.best())
        if not best.points:
            yet = "" if self.is_tuned else " yet"
            candidates = counted(self.tree.size, "candidate")
            return f"no win{yet} of {candidates}, after {self._work_done()}"
        shown = self.brief(self.engine(best.path))
        share = share_interval(*share_of_best(self.tree, best))
        is_best = "came out best" if self.is_tuned else "is best so far"
        return f"{shown} {is_best}: {share}; {_own_rate(best)}"

    def _blocks(self, *, live: bool) -> list[Table | Text]:
        wins, losses, draws, unknown = map(self.tally.total, range(4))
        limit = self._limit
        total = "" if limit is None else f"{self.tree.games}/"
        games = counted(self.tree.games if limit is None else limit, "game")
        counts = {"win": wins, "draw": draws, "loss": losses}
        tally = ", ".join(counted(n, word) for word, n in counts.items() if n or word != "draw")
        if unknown:
            tally += f", {counted(unknown, 'unknown result')} (counted as losses)"
        best = self.tree.node(self.tree.best())
        against = self.opponent.code
        lines = [f"{total}{games} played: {tally} of the candidates against {against}"]
        if best.games:
            share = share_interval(*share_of_best(self.tree, best))
            lines.append(
                f"best: {self._full(best.path)}: {share} by the results of all candidates; "
                f"{_own_rate(best)}"
            )
        blocks: list[Table | Text] = [Text(tuple(lines))]
        for depth, count in enumerate(self.values["summary_spec"], 1):
            nodes = [n for n in self.tree.nodes(depth) if len(n.path) == depth]
            if nodes and count:
                nodes.sort(key=lambda node: (-node.games, node.path))
                title = f"most visited at depth {depth}"
                note = "win rates with the initial visits, games without"
                blocks.append(self._listing(nodes[:count]).table(title, [note]))
        flying = sorted(self._flying.items()) if live else []
        shown = flying[: self.values["number_of_running_simulations_to_show"]]
        if shown:
            lines = [f"game {number}: {self._full(path)}" for number, path in shown]
            blocks.append(Text(("in progress:", *lines)))
        return blocks

    def _listing(self, nodes: Iterable[Node]) -> Listing:
        return Listing(_COLUMNS, tuple(map(self._row, nodes)))

    def _row(self, node: Node) -> dict[str, Any]:
        return {
            **self.row(self._code(node.path), self.engine(node.path)),
            "games": node.games,
            "points": node.points,
            "win_rate": node.points / node.games if node.games else None,
            "interval": list(wilson(node.points, node.games)),
            "value": node.value,
        }

    def _tree_lines(self) -> list[str]:
        """Return the first two generations of the tree for the history, in Gomill's form."""
        games, points = self.tree.games, self.tree.points
        rate = f"{points / games:.3f}" if games else "--"
        lines = [f"{self.tree.node_count()} nodes", f"Win rate {points:g}/{games} = {rate}"]
        for node in self.tree.nodes(2):
            indent = "  " * len(node.path)
            lines.append(
                f"{indent}{self._steps(node.path[-1:])} {self.text(node.path)} "
                f"{node.value:.3f} {node.games:3d}"
            )
        return lines

    def _snapshot(self) -> str:
        """Return the whole tree as a line of JSON for the tree log."""
        nodes = [
            {
                **msgspec.to_builtins(node),
                "path": [self.tree.coordinates(child) for child in node.path],
                "parameters": as_data(self.engine(node.path)),
            }
            for node in self.tree.nodes()
        ]
        best = self.tree.best()
        snapshot = {
            "games": self.tree.games,
            "points": self.tree.points,
            "best": [self.tree.coordinates(child) for child in best],
            "nodes": nodes,
        }
        return msgspec.json.encode(snapshot).decode()

    def _summary_of_tune(self) -> dict[str, Any]:
        node = self.tree.node(self.tree.best())
        (best,) = self._listing([node]).data()
        if node.games:
            points, games = share_of_best(self.tree, node)
            best |= {"estimated_rate": points / games, "interval": list(share_ends(points, games))}
        return {
            "repeats": self.tally.repeats,
            "best": best,
            "candidates": self._listing(self.tree.nodes()).data(),
        }

    def charts(self, history: Iterable[tuple[Ticket, GameResult]]) -> list[ChartGroup]:
        # imports numpy, which takes 0.1 s
        from ringmaster.competitions.tuning.mc_charts import McCharts

        return McCharts(self, history).charts()


def share_of_best(tree: Ucb, best: Node) -> tuple[float, float]:
    """Return points and games with the estimated rate of the best candidate."""
    return chosen_share(best.points, best.games, tree.results(len(best.path)))


def _own_rate(best: Node) -> str:
    share = 100 * best.points / best.games
    return f"{share:.0f} % in the {counted(best.games, 'game')} that chose it"


def points_of(ticket: Ticket, result: GameResult) -> float:
    """Return the candidate's points; a game of unknown result counts as a loss (Gomill)."""
    return result.points(ticket["s"]) if result.outcome != "unknown" else 0.0


def initial_of(ticket: Ticket) -> tuple[int, float] | None:
    """Return initial visits and wins of a generation expanded for a game, else None."""
    expanded = ticket.get("e")
    return None if expanded is None else (expanded[0], expanded[1])
