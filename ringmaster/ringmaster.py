"""The only loop: issue, submit, record, show.

Everything that a result changes is stored in one transaction: the result, the
competition's new state, and the issue of the jobs that follow from it; results that
come within a few hundredths of a second share theirs.  Game
records, history, log and display come after the commit and can be made again
from the store, so a crash at any instant doubles nothing, and loses those few
hundredths of a second at most: their games are played again.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

import ringmaster
from ringmaster.chronicle import Chronicle
from ringmaster.competitions.competition import Verdict
from ringmaster.conditions import NOTE
from ringmaster.control.changes import MOST, Comparison
from ringmaster.errors import CompetitionHalted, ControlFileError, SettingError
from ringmaster.event import Event
from ringmaster.execution.error_lines import ErrorLines
from ringmaster.execution.executor import Done, Executor
from ringmaster.execution.signals import Signals
from ringmaster.model.jobs import CheckJob, GameJob, Task
from ringmaster.model.results import CheckResult, EvaluationResult, GameResult, Result
from ringmaster.player_checks import FirstTests, check_before_run
from ringmaster.reporting.live import Display, View
from ringmaster.storage.journal import Journal
from ringmaster.storage.records import GameRecords
from ringmaster.storage.sqlite_store import SqliteStore
from ringmaster.storage.store import Issue, Pending, Run, Transaction

#: Seconds between two looks for a `stop` command while no result comes in.
COMMAND_PERIOD = 0.5
#: A state larger than this (bytes) is not stored with every result, but so that each
#: result has some of it to pay for.
SMALL_STATE, BYTES_A_RESULT = 4096, 1024
#: Seconds between two commits, where results come so fast: those in between share one.
COMMIT_PERIOD = 0.02


@dataclass(frozen=True)
class RunOptions:
    """What the command line says of a run.

    max_games   games to start in this run, None for no limit
    log_gtp     whether a transcript of each game is written
    log_faults  whether only those of void games and forfeits are
    cpus        CPUs that may be used, None for as many as there are games
    """

    parallel: int = 1
    max_games: int | None = None
    log_gtp: bool = False
    log_faults: bool = False
    cpus: int | None = None


class _Taken(NamedTuple):
    """A result as it was recorded, what follows from it, and its game record."""

    result: Result
    verdict: Verdict
    pending: Pending | None


class Ringmaster:
    """One run of an event.

    executor  makes the executor when it is needed
    stop_fd   what to wait on for the user's wish to stop, asked before each wait;
              `stop_asked` tells whether there is one
    error_lines  lines of the engines' standard error that are for the terminal
    clock     seconds since the epoch
    period    seconds between two commits at least, while results come in
    """

    def __init__(
        self,
        event: Event,
        options: RunOptions,
        *,
        executor: Callable[[], Executor],
        display: Display,
        stop_fd: Callable[[], int | None] = lambda: None,
        stop_asked: Callable[[], bool] = lambda: False,
        error_lines: ErrorLines | None = None,
        clock: Callable[[], float] = time.time,
        period: float = COMMIT_PERIOD,
    ) -> None:
        self._event = event
        self._competition = event.competition
        self._options = options
        self._leads = event.competition.may_run_ahead(options.parallel)
        self._make_executor = executor
        self._display = display
        self._stop_fd = stop_fd
        self._stop_asked = stop_asked
        self._error_lines = error_lines
        self._clock = clock
        self._signals = Signals()
        self._started = 0
        self._records: GameRecords | None = None
        #: Of the records of games that count, and of void ones.
        self._folders = (event.paths.games.name, event.paths.void.name)
        self._unsaved = 0
        self._state_size = 0
        self._halt = ""
        #: Why no further job can be made: a function of the control file failed.
        self._failure: SettingError | None = None
        self._stopping = ""
        self._backlog: list[Issue] = []
        #: Whether what the store has was given out under other settings.
        self._anew = False
        self._replays: list[Task] = []
        self._store: SqliteStore | None = None
        #: Outcomes of the tests that precede a player's first game.
        self._tests: dict[str, list[str]] | None = None
        #: Whether the competition knows more than the store has: a transaction
        #: failed, and its state must not be stored.
        self._ahead = False
        self._next_look = 0.0
        self._period = period
        #: When results that have come are stored at the earliest.
        self._next_commit = 0.0

    def run(self) -> int:
        """Carry the run out; returns the exit status: 0, or 3 when it was
        interrupted by a signal.

        The caller holds the competition's lock.  Raises RingmasterError.
        """
        event = self._event
        paths = event.paths
        self._journal = Journal(paths.log, paths.hist, tree=paths.tree_log)
        self._chronicle = Chronicle(self._journal, self._display, event)
        if not paths.log.stat().st_size:
            # by this line the next run knows the log
            self._journal.log(f"log of {event.code}, by ringmaster {ringmaster.__version__}")
        with self._signals:
            self._display.start()
            try:
                self._competition.say = self._chronicle.say
                event.prepare()
                self._open_known_store()
                self._event.check_functions(
                    played=self._store is not None and any(self._store.counts())
                )
                for line in self._event.warnings():
                    self._chronicle.warn(line)
                self._executor = self._make_executor()
                try:
                    self._check_players()
                    self._warn_of_crowding()
                    if self._signals.came is None:
                        self._play()
                finally:
                    self._executor.close()
                    self._show_error_lines()
            finally:
                self._display.close()
                self._journal.close()
                if self._records is not None:
                    self._records.close()
                if self._store is not None:
                    self._store.close()
        if self._failure is not None:
            raise self._event.loaded.error([self._failure])
        if self._halt:
            raise CompetitionHalted(f"the run was ended early: {self._halt}")
        if self._signals.came is not None:
            return 3
        if not self._stopping and not self._competition.finished():
            blocked = self._competition.blocked()
            if blocked:
                raise CompetitionHalted("\n".join(["the run is not complete:", *blocked]))
            raise CompetitionHalted(
                f"the competition is not complete, and has no more {self._competition.unit} to "
                "give out; please report this, with the control file and the status file"
            )
        return 0

    def _open_known_store(self) -> None:
        """Go on from a status file; nothing is written when there is none yet,
        since the players have not been checked."""
        status = self._event.paths.status
        if status.exists():
            self._store = SqliteStore.open(status)
            self._changes = self._event.check_changes(self._store)
            self._anew = self._event.starts_anew(self._store)
            self._backlog = self._event.restore(self._store)

    def _check_players(self) -> None:
        """Start every player once.  Raises ControlFileError naming each problem."""
        if self._event.loaded.values["skip_player_checks"] or self._competition.finished():
            return
        known = None if self._store is None else self._store.note("tests")
        tests = FirstTests(self._event, known)
        try:
            check_before_run(self._event, self._executor, self._signals, tests)
        except ControlFileError as error:
            self._journal.log(f"startup check failed: {error}")
            raise
        for line in tests.warnings():
            self._chronicle.warn(line)
        for line in tests.untested():
            self._chronicle.say(line)
        self._tests = tests.outcomes

    def _warn_of_crowding(self) -> None:
        """Warn of too few CPUs, once the engines' own numbers of threads are known."""
        cpus = self._options.cpus
        line = cpus and self._event.conditions.crowding(self._options.parallel, cpus)
        if line:
            self._chronicle.warn(f"warning: {line}")

    def _wake(self) -> list[int]:
        """Return what ends a wait for results."""
        lines_fd = None if self._error_lines is None else self._error_lines.fileno()
        return [fd for fd in (self._signals.fd, self._stop_fd(), lines_fd) if fd is not None]

    def _play(self) -> None:
        event = self._event
        if self._store is None:
            self._store = SqliteStore.open(event.paths.status)
            self._competition.attach(self._store.scores)
            self._changes = Comparison()
        if self._anew:
            # before the new settings are stored: a kill in between changes nothing
            with self._store.transaction() as transaction:
                for issue in self._store.issues():
                    transaction.withdraw(issue.game_id)
                transaction.save_state(self._competition.state())
        if self._tests is not None:
            with self._store.transaction() as transaction:
                transaction.set_note("tests", self._tests)
        self._resume_journal()
        self._adopt()
        values = event.loaded.values
        self._records = GameRecords(
            self._store,
            event.paths,
            values["record_files"] if values["record_games"] else None,
            self._chronicle.warn,
        )
        self._records.resume({issue.game_id for issue in self._backlog})
        number = self._store.begin_run(
            Run(
                number=0,
                started=self._clock(),
                version=ringmaster.__version__,
                source=event.loaded.source,
                source_hash=event.loaded.source_hash,
                settings=event.settings,
                parallel=self._options.parallel,
            )
        )
        self._journal.log(f"run {number} started (ringmaster {ringmaster.__version__})")
        for text in self._changes.texts(MOST):
            self._display.message(f"changed since the last run: {text}")
        for text in self._changes.texts():
            for line in text.splitlines():
                self._journal.log(f"changed since the last run: {line}")
        for text in (*self._event.effects, *self._competition.notices()):
            self._chronicle.say(text)
        self._play_began = time.monotonic()
        reason = "error"
        try:
            self._issue_first()
            self._loop()
            reason = self._reason()
        finally:
            self._finish(number, reason)

    def _adopt(self) -> None:
        """Store what the edits since the last run have done, with the history's lines of
        it: a kill at any instant leaves all of it to be done, or nothing."""
        assert self._store is not None
        effects = self._event.effects
        if not effects:
            return
        with self._store.transaction() as transaction:
            transaction.save_state(self._competition.state())
            transaction.set_note("history", effects)
        self._journal.history(effects)

    def _resume_journal(self) -> None:
        """Write the history and the tree log of the last results, and the log of the
        games that began with them, if a kill prevented it."""
        assert self._store is not None
        self._journal.complete_log(self._store.note("started") or [])
        lines = self._store.note("history")
        if lines:
            self._journal.complete_history(lines)
        snapshot = self._store.note("tree")
        if snapshot:
            self._journal.snapshot(snapshot, unless_last=True)

    def _reason(self) -> str:
        if self._signals.came is not None:
            return f"interrupted by {self._signals.came.name}"
        if self._failure is not None:
            return f"an error in the control file: {self._failure}"
        if self._halt:
            return f"halted: {self._halt}"
        if self._competition.finished():
            return self._competition.ending
        if self._stopping:
            return self._stopping
        blocked = self._competition.blocked()
        return f"halted: {'; '.join(blocked[:-1])}" if blocked else "nothing left to issue"

    def _finish(self, number: int, reason: str) -> None:
        assert self._store is not None
        if not self._ahead:
            with self._store.transaction() as transaction:
                transaction.save_state(self._competition.state())
            if self._records is not None:
                self._records.finish()
        self._store.end_run(number, self._clock(), reason)
        self._journal.log(f"run {number} ended: {reason}")
        progress = self._competition.progress()
        total = "" if progress.total is None else f"/{progress.total}"
        more = "" if self._competition.finished() else "; run it again to go on"
        self._display.message(f"{reason} ({progress.completed}{total} {progress.label}{more})")
        if not self._ahead:
            self._event.write_report()

    # issuing

    def _issue_first(self) -> None:
        """Fill the executor: first what was given out before and never came back."""
        with self._transaction() as transaction:
            jobs = self._next_jobs(transaction)
            transaction.save_state(self._competition.state())
            transaction.set_note(NOTE, self._event.conditions.as_note())
        self._submit(jobs)

    @contextmanager
    def _transaction(self) -> Iterator[Transaction]:
        """A transaction in which the competition is asked or told something."""
        assert self._store is not None
        self._ahead = True
        try:
            with self._store.transaction() as transaction:
                yield transaction
        except SettingError as error:
            raise self._event.loaded.error([error]) from None
        self._ahead = False

    @property
    def _records_of_run(self) -> GameRecords:
        """The game records, once the games have begun."""
        assert self._records is not None
        return self._records

    def _next_jobs(self, transaction: Transaction) -> list[Task]:
        """Return a job for each idle worker, as far as there are any, and more where they
        may be given out ahead of results."""
        jobs: list[Task] = []
        for _ in range(self._executor.room(ahead=self._leads)):
            job = self._next_job(transaction)
            if job is None:
                break
            jobs.append(job)
        return jobs

    def _next_job(self, transaction: Transaction) -> Task | None:
        """Return the next job, stored as issued; None when there is none, or
        none is wanted any more in this run."""
        if self._halt or self._stopping or self._failure or self._signals.came is not None:
            return None
        limit = self._options.max_games
        if limit is not None and self._started >= limit:
            self._stopping = f"the {limit} {self._competition.unit} of this run have been started"
            return None
        try:
            job = self._next_replay() or self._make_next(transaction)
        except SettingError as error:
            # what has come back counts, and so do the games in progress
            self._failure = error
            return None
        if job is not None:
            self._started += 1
            if isinstance(job, GameJob):
                self._records_of_run.place(transaction, job.id)
        return job

    def _next_replay(self) -> Task | None:
        """Return the next void job to repeat.  A job that the competition holds back stays
        issued in the store, for a later run."""
        while self._replays:
            job = self._replays.pop(0)
            if self._competition.wants(job.ticket):
                return job
        return None

    def _make_next(self, transaction: Transaction) -> Task | None:
        while self._backlog:
            issue = self._backlog.pop(0)
            if self._competition.wants(issue.ticket):
                return self._competition.make_job(issue.game_id, issue.attempt, issue.ticket)
        job = self._competition.next_job()
        if job is not None:
            transaction.issue(Issue(job.id, job.attempt, job.ticket))
        return job

    def _submit(self, jobs: Sequence[Task]) -> list[str]:
        """Give jobs to the executor; returns the log's lines of the games among them."""
        started: list[str] = []
        for job in jobs:
            if self._options.log_gtp or self._options.log_faults:
                suffix = f"_{job.attempt}" if job.attempt else ""
                path = self._event.paths.gtplogs / f"{job.id}{suffix}.log"
                of_faults = not self._options.log_gtp
                job = msgspec.structs.replace(
                    job, transcript=str(path), transcript_of_faults=of_faults
                )
            if isinstance(job, GameJob):
                codes = " v ".join(player.code for player in job.players)
                started.append(f"starting game {job.id}: {codes}")
                self._journal.log(started[-1])
            self._executor.submit(job)
        return started

    # recording

    def _loop(self) -> None:
        while self._executor.running():
            self._look_for_stop()
            if self._signals.came is not None:
                return
            self._display.update(self._view)
            due = self._display.next_update()
            patience = COMMAND_PERIOD if due is None else min(due, COMMAND_PERIOD)
            done = deque(self._wait(patience))
            while done:
                self._take(done)
            self._signals.drain()
        self._display.update(self._view)

    def _wait(self, patience: float) -> list[tuple[Task, Result]]:
        """Return what has come back within so many seconds; what a worker that died has
        left is given out again."""
        found: list[tuple[Task, Result]] = []
        events = self._executor.wait(patience, self._wake())
        self._show_error_lines()
        for event in events:
            if isinstance(event, Done):
                assert not isinstance(event.job, CheckJob)
                assert not isinstance(event.result, CheckResult)
                found.append((event.job, event.result))
            else:
                summary, *details = event.reason.splitlines() or [""]
                is_game = isinstance(event.job, GameJob)
                again = "game {} is played again" if is_game else "job {} is done again"
                self._chronicle.warn(f"{again.format(event.job.id)}: {summary}")
                for line in details:
                    self._journal.log(line)
                self._executor.submit(event.job)
        return found

    def _show_error_lines(self) -> None:
        if self._error_lines is not None:
            self._display.engine_errors(self._error_lines.take())

    def _look_for_stop(self) -> None:
        if self._stopping or time.monotonic() < self._next_look:
            return
        self._next_look = time.monotonic() + COMMAND_PERIOD
        if self._stop_asked():
            self._stopping = "stopped by Ctrl-X"
        elif self._event.paths.take_stop():
            self._stopping = "stopped by command"
        if self._stopping:
            self._display.message(
                f"{self._stopping}: waiting for {self._competition.unit} in progress"
            )

    def _take(self, done: deque[tuple[Task, Result]]) -> None:
        """Record results and issue what follows from them: one transaction.  Those that
        it leaves in `done` are for the next."""
        with self._journal.together():
            with self._transaction() as transaction:
                taken, started = self._gather(transaction, done)
                verdicts = [each.verdict for each in taken]
                history = [line for v in verdicts for line in (v.line, *v.notes) if line]
                if taken:
                    transaction.set_note("history", history)
                    # those that have ended already are not started again after a kill
                    transaction.set_note("started", started)
                    self._records_of_run.forget(transaction)
                self._save_state(transaction, taken)
            self._next_commit = time.monotonic() + self._period
            self._tell(taken, history)

    def _gather(
        self, transaction: Transaction, done: deque[tuple[Task, Result]]
    ) -> tuple[list[_Taken], list[str]]:
        """Record results that have come at once, and those that come before the next
        commit is due, and give out the jobs that follow; returns what was recorded, and
        the log's lines of what was given out."""
        taken: list[_Taken] = []
        started: list[str] = []
        full = False
        while True:
            while done and not full:
                found = self._record(transaction, *done.popleft())
                if found is not None:
                    taken.append(found)
                    # of the lines of the tree log the store remembers one
                    full = bool(found.verdict.snapshot)
            started += self._submit(self._next_jobs(transaction))
            left = self._next_commit - time.monotonic()
            if full or left <= 0 or not self._may_wait():
                return taken, started
            done.extend(self._wait(left))

    def _may_wait(self) -> bool:
        """Whether results may wait for others before they are stored."""
        return bool(self._executor.running()) and self._signals.came is None and not self._halt

    def _record(self, transaction: Transaction, job: Task, result: Result) -> _Taken | None:
        """Record a result and let the competition learn of it; None when it was recorded
        before: a worker was believed dead, and was not."""
        pending = self._pending(job, result)
        result = self._competition.settled(job, result)
        fingerprint = result.fingerprint if isinstance(result, GameResult) else None
        if fingerprint is not None and transaction.has_game(fingerprint):
            result = msgspec.structs.replace(result, repeats=True)
        if transaction.record(job.ticket, result) is None:
            return None
        verdict = self._competition.take(job.ticket, result)
        if self._event.conditions.take(job, result):
            transaction.set_note(NOTE, self._event.conditions.as_note())
        self._note(transaction, job, result, verdict, pending)
        return _Taken(result, verdict, pending)

    def _note(
        self,
        transaction: Transaction,
        job: Task,
        result: Result,
        verdict: Verdict,
        pending: Pending | None,
    ) -> None:
        """Store what a verdict asks for, beside the result itself."""
        if verdict.replay:
            again = msgspec.structs.replace(job, attempt=job.attempt + 1, transcript=None)
            transaction.issue(Issue(again.id, again.attempt, again.ticket))
            self._replays.append(again)
        self._halt = self._halt or verdict.halt
        if verdict.snapshot:
            transaction.set_note("tree", verdict.snapshot)
        for number in verdict.forget:
            transaction.drop_scores(number)
        if isinstance(result, EvaluationResult):
            return
        if result.outcome != "void":
            self._records_of_run.note(transaction, job.id, job.attempt, pending)
        elif pending is not None:
            transaction.add_pending(pending)

    def _save_state(self, transaction: Transaction, taken: Sequence[_Taken]) -> None:
        """Store the state, a large one only now and then (or when a verdict wants it):
        what has come since is taken again from the results, and the cost of a game
        stays constant."""
        self._unsaved += len(taken)
        wanted = any(each.verdict.save for each in taken)
        small = self._state_size <= SMALL_STATE
        if wanted or small or self._unsaved * BYTES_A_RESULT >= self._state_size:
            self._state_size = transaction.save_state(self._competition.state())
            self._unsaved = 0

    def _pending(self, job: Task, result: Result) -> Pending | None:
        if isinstance(result, EvaluationResult) or result.record is None:
            return None
        void = result.outcome == "void"
        suffix = f"_{job.attempt}" if void else ""
        name = f"{job.id}{suffix}.{result.record_suffix}"
        return Pending(job.id, job.attempt, self._folders[void], name, result.record)

    def _tell(self, taken: Sequence[_Taken], history: Sequence[str]) -> None:
        """What comes after the commit: history, records, log, display."""
        self._journal.history(history)
        self._records_of_run.write([each.pending for each in taken if each.pending is not None])
        told = [(each.result, each.verdict) for each in taken]
        self._chronicle.tell(told, halted=bool(self._halt))

    def _view(self) -> View:
        in_progress = self._executor.running()[: self._options.parallel]
        return self._chronicle.view(in_progress, self._play_began, self._options.parallel)
