"""texel: tunes one player's evaluation on labelled positions.

A run is a sequence of passes: one set of parameter values, whose scores of all positions
are asked of engines, shard by shard.  The optimiser is told the mean error of each pass.
When it is done, a closing match of the tuned against the start values may prove it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from ringmaster.competitions.closing_match import Standing
from ringmaster.competitions.common import noting
from ringmaster.competitions.competition import (
    Played,
    ScoreSource,
    Trajectory,
    Verdict,
)
from ringmaster.competitions.game_settings import make_game_settings
from ringmaster.competitions.matchup_charts import MatchupCourses
from ringmaster.competitions.opening_settings import SAME_GAMES_OF_TUNE
from ringmaster.competitions.player_tune import PlayerTune
from ringmaster.competitions.players import PlayerDefinition, find_player
from ringmaster.competitions.texel.arrival import digest_of, take_note
from ringmaster.competitions.texel.charts import tune_charts
from ringmaster.competitions.texel.checks import (
    check_anchor,
    check_game,
    check_groups,
    check_labels,
    check_limits,
    check_validation,
    unused,
    without_limits,
)
from ringmaster.competitions.texel.edits import (
    begin_anew,
    changes,
    engine_of,
    limits_of,
    measures_again,
)
from ringmaster.competitions.texel.evaluations import EngineJob, Evaluations
from ringmaster.competitions.texel.features import Features, from_answers
from ringmaster.competitions.texel.methods import make_optimiser
from ringmaster.competitions.texel.probing import probe_of
from ringmaster.competitions.texel.reference import Reference
from ringmaster.competitions.texel.report import TuneReport
from ringmaster.competitions.texel.scoring import Scoring
from ringmaster.competitions.texel.settings import TEXEL_SETTINGS, SweepSettings
from ringmaster.competitions.texel.shards import Shards
from ringmaster.competitions.texel.state import REFERENCE, State, score_key
from ringmaster.competitions.texel.terms import Terms, plain
from ringmaster.competitions.texel.tuning import Means, Tuning
from ringmaster.competitions.texel.verdicts import (
    shard_id,
    shard_line,
    take_probe,
    take_void,
)
from ringmaster.competitions.tuned_parameters import Named, check_codes
from ringmaster.competitions.voids import VoidKinds, added, void_line
from ringmaster.errors import SettingError, SettingErrors, StateRefused, UsageError
from ringmaster.model.canonical import canonical
from ringmaster.model.charts import ChartGroup
from ringmaster.model.jobs import CheckJob, EvaluationJob, Task, Ticket
from ringmaster.model.parameters import TunedParameter
from ringmaster.model.players import Player
from ringmaster.model.report import Progress, Report, Text
from ringmaster.model.results import EvaluationResult, GameResult, Result
from ringmaster.model.settings import Setting
from ringmaster.positions import PositionFile
from ringmaster.tuners.texel.optimiser import Optimiser
from ringmaster.tuners.texel.ridge import strengths_of
from ringmaster.tuners.texel.sweep import Swept


class TexelCompetition(PlayerTune):
    """The `texel` competition type.

    parameters  all of them
    """

    type_name: ClassVar[str] = "texel"
    table: ClassVar[tuple[Setting, ...]] = TEXEL_SETTINGS
    unit: ClassVar[str] = "jobs"

    def __init__(self, code: str, values: Mapping[str, Any]) -> None:
        super().__init__(code, values)
        self._scoring: Scoring = values["score"]
        errors: list[SettingError] = []
        with noting(errors):
            check_game(self._game)
        with noting(errors):
            self.settings = make_game_settings(self._game, values)
        with noting(errors):
            definition = find_player(values["players"], values["player"], ("player",))
            made = values["make_candidate"] is not None
            errors += check_limits(definition, values["player"], values["verify"], made)
        with noting(errors):
            self._scoring.for_game(self._game)
        reference: Reference | None = None
        with noting(errors):
            reference = Reference.of(values)
        with noting(errors):
            values["positions"].quiet_score.for_game(self._game)
        errors += [
            *check_codes(self.parameters),
            *check_anchor(values),
            *check_groups(values),
        ]
        if errors:
            raise SettingErrors(errors)
        self._unlimited = without_limits(definition) and not made
        if self._unlimited and definition.values["protocol"] != "gtp":
            # scores need no limit of moves, and a Player(…) must have one
            definition = PlayerDefinition({**definition.values, "depth": 1})
        self._use(definition, counted="passes")
        self._terms = Terms.of(values)
        self._engine = engine_of(None if made else definition, values["make_candidate"])
        self._means = Means(
            values["target"],
            values["loss"],
            values["win_rate_scale"],
            values["teacher_scale"],
            values["positions"],
            self._scoring.is_static,
            values["seed"],
            from_answers(values["optimiser"].arguments.get("features")),
            None if reference is None else reference.player.code,
        )
        self._reference = reference
        self._evaluations = Evaluations(values, self.settings, reference)
        self._file: PositionFile | None = None
        #: What has been said while the positions were read.
        self._said: set[str] = set()
        self._source: ScoreSource = lambda number, shard: None
        self._state = State(
            self._terms,
            self._engine,
            self.start_values,
            limits=limits_of(values),
            in_flight=values["in_flight"],
            reference=None if reference is None else reference.terms,
            sweep=self._swept(),
        )
        self._follow()
        # wrong arguments must be known before the positions are read
        self._make_optimiser(self._state, Shards(1, 0))

    def _follow(self) -> None:
        """Go by the present state."""
        codes = [p.code for p in self._state.terms.tuned]
        self.tuning = Tuning(self._state, self._means, codes, self._make_optimiser)
        self.tuning.attach(self._source)
        if self._file is not None:
            self.tuning.use(self._file)
        optimiser = self.values["optimiser"]
        if optimiser.name == "linear" and self.positions_file is not None:
            target = self.positions_file.with_suffix(".features")
            codes = [p.code for p in self.parameters]
            self.tuning.features = Features(optimiser, codes, target, self._tell)

    def _make_optimiser(self, state: State, shards: Shards) -> Optimiser:
        known = {p.code: p for p in self.parameters}
        tuned = [
            msgspec.structs.replace(known[p.code], start=float(state.values[p.code]))
            for p in state.terms.tuned
        ]
        values = self.values
        optimiser = make_optimiser(
            values["optimiser"],
            tuned,
            seed=values["seed"],
            ridge=values["regularisation"],
            groups=values["groups"],
            patience=values["patience"],
            most_passes=values["most_passes"],
            shards=shards.of_train,
            validated=shards.validation > 0,
        )
        if values["sweep"] is None:
            return optimiser
        ridge = values["regularisation"]
        return Swept(
            optimiser,
            tuned,
            targets=values["sweep"].targets(values["target"]),
            strengths=strengths_of(None if ridge is None else (ridge.strength,)),
            validated=shards.validation > 0,
            asked=state.asked,
        )

    # values and players

    def _played(self, values: Named) -> Named:
        """Return values of all parameters as engines are given them."""
        return {p.code: p.engine_value(values.get(p.code, p.start)) for p in self.parameters}

    def estimated(self) -> Named:
        """Return the best values so far, of all parameters."""
        return self._played(self.tuning.best())

    # the closing match

    @property
    def all_told(self) -> bool:
        return self.tuning.complete

    def _standing(self) -> Standing:
        return Standing(self._state.passes, self.estimated(), 0, self._due)

    def verify(self, games: int | None = None) -> None:
        limits = {} if self.closing.settings is None else self.closing.settings.limits
        if self._unlimited and not limits:
            raise UsageError(
                f"nothing limits the moves of player {self.values['player']!r}: the closing match "
                "needs nodes, depth, move_time or time_control in its Player(…) or in Verify(…)"
            )
        super().verify(games)

    # before the jobs

    def attach(self, scores: ScoreSource) -> None:
        self._source = scores
        self.tuning.attach(scores)

    def prepare(self) -> None:
        self.book.load()
        self.closing.prepare()
        if self._verifying:
            return
        if self.positions_file is None:
            raise SettingError(("positions",), "there is no place to keep the positions in")
        from ringmaster.datasets.build import build

        values = self.values
        self._file = build(
            self._game,
            values["variant"],
            values["positions"].dataset,
            values["validation"],
            values["seed"],
            self.positions_file,
            self._tell,
        )
        swept = [] if values["sweep"] is None else values["sweep"].targets(values["target"])
        for target in (values["target"], *swept):
            check_labels(self._file, target, values)
        take_note(self._file, self._state)
        self._follow()
        if self.tuning.optimiser is None:
            self.tuning.begin()

    def _tell(self, line: str) -> None:
        self._said.add(line)
        self.say(line)

    def warnings(self) -> list[str]:
        lines = self.closing.warnings(self._standing())
        wanted = self.closing.settings is not None
        if wanted and not self.closing.has_openings and self.book.missed:
            lines.append(SAME_GAMES_OF_TUNE)
        if self._verifying:
            return lines
        lines += unused(self.parameters)
        labelling = self._state.labelling
        if labelling is not None:
            lines += labelling.warnings
        return lines

    def notices(self) -> list[str]:
        notes = [] if self._verifying or self._state.told else self._state.notes
        lines = [note for note in notes if note not in self._said]
        if not self._verifying and self._file is not None:
            lines += check_validation(self.values, self._file)
            if not self._state.told:
                lines += self._report().plan()
        return lines + self.closing.notices(self._standing())

    def contestants(self) -> list[Player]:
        tuned, *others = super().contestants()
        return [msgspec.structs.replace(tuned, depth=None) if self._unlimited else tuned, *others]

    def openings(self) -> dict[str, dict[str, Any]]:
        if self.closing.settings is None and not self.closing.matches:
            return {}
        return {"the closing match": self.closing.openings() or self.book.describe()}

    def check_jobs(self) -> list[CheckJob]:
        if self._verifying:
            return self.closing.check_jobs(self._standing())
        low = {p.code: p.engine_value(p.minimum) for p in self._tuned()}
        high = {p.code: p.engine_value(p.maximum) for p in self._tuned()}
        samples = {
            "start": self.start_values,
            "minimum": {**self.start_values, **low},
            "maximum": {**self.start_values, **high},
        }
        jobs = self._candidate_checks(samples)
        if self._reference is not None:
            player = self._reference.player
            jobs.append(CheckJob(f"check-{player.code}", player, self.settings))
        return jobs + self.closing.check_jobs(None)

    def _tuned(self) -> list[TunedParameter]:
        return [p for p in self.parameters if not p.frozen and p.code != self.values["anchor"]]

    # giving out

    def next_job(self) -> Task | None:
        state = self._state
        if not self._verifying and not self.tuning.complete:
            if state.probe_due and state.probe_out is None:
                return self._give_out(
                    f"probe{state.probes + 1}", {"e": state.beginning, "n": state.probes + 1}
                )
            if state.facts is None:
                return None
            asked = self.tuning.next()
            if asked is not None:
                ticket = {"e": state.beginning, "p": asked.number, "i": asked.place}
                return self._give_out(shard_id(ticket), ticket)
        return self._game_of_match()

    def _count(self, ticket: Ticket) -> bool:
        """Learn from a ticket what has been given out; idempotent.  Returns whether it is
        awaited."""
        state = self._state
        if "v" in ticket:
            self.closing.count(ticket, self._standing())
            return True
        if ticket["e"] != state.beginning:
            return False
        if "n" in ticket:
            if ticket["n"] >= state.probes:
                state.probes = state.probe_out = ticket["n"]
            return bool(ticket["n"] == state.probe_out)
        return self.tuning.count(ticket["p"], ticket["i"])

    def resume(self, ticket: Ticket) -> bool:
        if "v" in ticket:
            return self.closing.resume(ticket, self._standing())
        return self._count(ticket) and not self._verifying

    def make_job(self, game_id: str, attempt: int, ticket: Ticket) -> Task:
        if "v" in ticket:
            return self._match_job(game_id, attempt, ticket)
        if "n" in ticket:
            values = self._played(self._state.values)
            probe = probe_of(
                self._tuned(),
                values,
                lambda changed: self.candidate("", changed),
                self.values["apply"],
                self.values["in_flight"],
            )
            places = self.tuning.shards.probed
            return self._evaluations.probe(
                game_id, attempt, ticket, self._engine_with(values), places, probe
            )
        engine = self._engine_with(self._played(self.tuning.values(ticket["p"])))
        if ticket["p"] <= REFERENCE and self._reference is not None:
            engine = msgspec.structs.replace(engine, player=self._reference.player)
        return self._evaluations.shard(game_id, attempt, ticket, engine, self.tuning)

    def _engine_with(self, values: Named) -> EngineJob:
        key = "" if self._file is None else self._file.key
        return EngineJob(self.candidate("", values), str(self.positions_file), key)

    # learning

    def settled(self, task: Task, result: Result) -> Result:
        if isinstance(result, EvaluationResult) and isinstance(task, EvaluationJob):
            return self._evaluations.settled(task, result, self.tuning)
        return result

    def take(self, ticket: Ticket, result: Any) -> Verdict:
        if "v" in ticket:
            return self.closing.take(ticket, result, self._standing())
        assert isinstance(result, EvaluationResult)
        if self.tuning.optimiser is not None:
            self._count(ticket)
        if result.outcome == "void":
            return take_void(self._state, ticket, result, self.values["player"])
        state = self._state
        state.void_in_a_row = 0
        if "n" in ticket:
            return take_probe(state, ticket, result, self._scoring.kind)
        state.shards += 1
        state.positions += result.positions
        state.seconds += result.seconds
        log = shard_line(ticket, result)
        if ticket["e"] != state.beginning or self.tuning.optimiser is None:
            # of before an edit: it will be dropped
            state.stale.append(score_key(ticket["e"], ticket["p"]))
            return Verdict("", log=log)
        outcome = self.tuning.take(ticket["p"], ticket["i"], result.facts.get("loss"))
        return Verdict(
            outcome.line,
            halt=(outcome.settled and self.tuning.optimiser.problem) or "",
            notes=outcome.notes,
            save=outcome.settled,
            forget=outcome.forget,
            log=log,
        )

    # state

    def state(self) -> dict[str, Any]:
        if self.tuning.optimiser is not None:
            self._state.optimiser = self.tuning.optimiser.state()
        self._state.matches = self.closing.state()
        return msgspec.to_builtins(self._state)  # type: ignore[no-any-return]  # a struct: a dict

    def restore(self, state: Mapping[str, Any]) -> None:
        restored = msgspec.convert(state, State)
        if restored.shards and plain(restored.engine) != plain(self._engine):
            raise StateRefused(
                "the scores so far are of another engine, or of one that was set up otherwise; "
                "put the player back, or use reset",
                self.place_of(self.values["player"]),
            )
        self._state = restored
        self._follow()
        # results recorded since are taken as they were meant; an optimiser of other settings
        # is not needed for that
        if restored.train and plain(self._terms) == plain(restored.terms):
            self.tuning.begin()
        self.closing.restore(restored.matches, 0)

    def adopt(self, outstanding: Sequence[Ticket]) -> list[str]:
        state = self._state
        if self.tuning.optimiser is not None:
            for ticket in outstanding:
                if "v" not in ticket:
                    self._count(ticket)
        self._adopt_reference()
        digest = (state.digest, "" if self._file is None else digest_of(self._file, state))
        found = changes(state.terms, self._terms, digest)
        limits = limits_of(self.values)
        if not found and state.done and plain(limits) != plain(state.limits):
            found = [f"{name} changed" for name in limits if limits[name] != state.limits.get(name)]
        state.limits = limits
        lines: list[str] = []
        if found:
            lines = self._begin_anew(found, digest)
        elif plain(state.engine) != plain(self._engine):
            state.engine, state.facts, state.probe_due = self._engine, None, True
        elif state.in_flight != self.values["in_flight"] and state.facts is not None:
            state.probe_due = True
            lines = ["in_flight changed: the engine is probed again"]
        self._state.in_flight = self.values["in_flight"]
        if plain(state.sweep) != plain(self._swept()):
            self._state.sweep = self._swept()
            if not found:
                self.tuning.change_sweep()
        if self._file is not None and not found:
            take_note(self._file, self._state)
        return lines

    def _swept(self) -> list[dict[str, Any]] | None:
        """Return the targets of the sweep as JSON data, None without a sweep."""
        sweep: SweepSettings | None = self.values["sweep"]
        if sweep is None:
            return None
        return [canonical(target) for target in sweep.targets(self.values["target"])]

    def _adopt_reference(self) -> None:
        """Forget the scores of a reference engine that has been replaced or changed."""
        state, reference = self._state, self._reference
        terms = None if reference is None else reference.terms
        if plain(state.reference) == plain(terms):
            return
        state.filters.pop(str(state.reference_pass), None)
        state.stale.append(score_key(state.beginning, state.reference_pass))
        state.reference, state.comparison = terms, None
        state.reference_pass -= 1

    def _begin_anew(self, found: list[str], digest: tuple[str, str]) -> list[str]:
        state, why = self._state, "; ".join(found)
        where = f"after {state.passes} passes" if state.passes else "before the first pass"
        remeasure = measures_again(state.terms, self._terms, digest)
        self._state = begin_anew(
            state, self._terms, self.parameters, why, remeasure=bool(remeasure)
        )
        self._state.engine = self._engine
        if self._file is not None:
            take_note(self._file, self._state)
        self._follow()
        if self._state.train:
            self.tuning.begin()
        values = ", ".join(f"{code} {value:.6g}" for code, value in self._state.values.items())
        kept = "" if remeasure or state.labelling is None else "; the win-rate scale stays"
        return [
            f"{where}: {why}",
            f"{where}: the optimiser begins anew from the best values so far: {values}{kept}",
        ]

    # what is told

    def _report(self) -> TuneReport:
        return TuneReport(
            self.parameters,
            self.values,
            self._state,
            self.tuning.optimiser,
            self.estimated(),
            self.start_values,
            self._shown,
        )

    def progress(self) -> Progress:
        standing = self._standing()
        if standing.due:
            played, games = self.closing.progress(standing)
            return Progress(played, games, phase="closing match")
        return Progress(self._state.shards, None, label="shards", phase=self._report().phase())

    def games(self, completed: int, void: int) -> tuple[int, int]:
        return self.closing.completed, max(0, void - self._state.void)

    def report(self) -> Report:
        blocks = self._report().blocks(self.closing.blocks(self._standing()))
        if self._state.void:
            void = void_line(self._state.void_kinds, self._state.void, unit="evaluations")
            blocks.append(Text((void,)))
        return Report(tuple(blocks))

    def void_kinds(self) -> VoidKinds:
        return added([self._state.void_kinds, self.closing.void_kinds()])

    def live_report(self) -> Report:
        return Report((*self._report().short(), *self.closing.blocks(self._standing())))

    def summary(self) -> dict[str, Any]:
        summary = self._report().data()
        if self.closing.matches:
            summary["matchups"] = self.closing.summaries(self._standing())
        return summary

    def describe(self, ticket: Ticket) -> Played:
        if "v" in ticket:
            return self.closing.describe(ticket)
        return Played((self.values["player"], self.values["player"]))

    def _optimised(self) -> list[TunedParameter]:
        """Return the parameters that the optimiser's arrays are of."""
        tuned = {p.code for p in self._state.terms.tuned}
        return [p for p in self.parameters if p.code in tuned]

    def trajectory(self, history: Iterable[tuple[Ticket, GameResult]]) -> Trajectory:
        optimiser = self.tuning.optimiser
        steps = () if optimiser is None else optimiser.course
        codes = tuple(p.code for p in self._optimised())
        points = [(step.passes, codes, step.theta) for step in steps if step.taken]
        note = "the courses before the optimiser began anew are not kept"
        return Trajectory("passes", codes, points, note if self._state.earlier else "")

    def charts(self, history: Iterable[tuple[Ticket, GameResult]]) -> list[ChartGroup]:
        matches = MatchupCourses(self.matchup_infos())
        for ticket, result in history:
            matches.take(self.describe(ticket), result)
        return [
            *tune_charts(self._optimised(), self._state, self.tuning.optimiser),
            *matches.charts("Closing match"),
        ]
