"""The words of a run for the log, the tree log and the display."""

from __future__ import annotations

import time
from collections.abc import Iterable

from ringmaster.competitions.competition import Reaction, Summary
from ringmaster.execution.executor import Executor
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.model.jobs import CheckJob
from ringmaster.model.report import Report
from ringmaster.model.results import EvaluationResult, Result
from ringmaster.reporting.live import Display
from ringmaster.reporting.progress import DisplayView
from ringmaster.run_control import HINT, RunControl
from ringmaster.run_events import EventCommand
from ringmaster.storage.journal import Journal
from ringmaster.storage.store import Store

#: Numbers of results and of warnings on the display.
RECENT, WARNINGS = 50, 5
#: Bytes of the engines' standard error in the log of one run.
STDERR_BYTES = 20_000_000
#: A summary is computed again after this many times its own duration.
SUMMARY_PAUSE = 20


class RunLog:
    """Reports results and messages of one run, after their commit.

    completed  number of results in this run, void games left out
    recent     the last results, a line each
    warnings   the last warnings
    events     runs the command of `on_event`, from `begin_events` on
    """

    def __init__(self, journal: Journal, display: Display, loaded: LoadedCompetition) -> None:
        self._journal = journal
        self._display = display
        self._loaded = loaded
        self._unit = loaded.competition.unit
        self.completed = 0
        #: The last summary, and the time (monotonic clock) at which another is due.
        self._summary: Summary | None = None
        self._summary_due = 0.0
        self.recent: list[str] = []
        self.warnings: list[str] = []
        self._stderr_room = STDERR_BYTES
        self.events = EventCommand((), {}, self.warn)
        self._is_doubtful = False

    def begin_events(self) -> None:
        """Run the command of `on_event` for the start of the run."""
        names = {"name": self._loaded.code, "file": str(self._loaded.paths.control.absolute())}
        words = self._loaded.control_file.values["on_event"] or ()
        self.events = EventCommand(words, names, self.warn)
        summary = self._loaded.competition.summary(live=True)
        self._is_doubtful = bool(summary.doubts)
        self.events.start("start", summary.verdict)

    def look_for_doubt(self, summary: Summary) -> None:
        """Run the command of `on_event` for the first doubt of the run."""
        if summary.doubts and not self._is_doubtful:
            self._is_doubtful = True
            self.events.start("doubt", summary.verdict)

    def resume(self, store: Store) -> None:
        """Complete the history and tree log of the last transaction after a kill."""
        lines = store.read_value("history", list[str])
        if lines:
            self._journal.complete_history(lines)
        snapshot = store.read_value("tree")
        if snapshot:
            self._journal.snapshot(snapshot)

    def warn(self, line: str) -> None:
        """Log a warning and show it until newer warnings replace it."""
        self.warnings.append(line)
        del self.warnings[:-WARNINGS]
        self._display.warning(line)
        self._journal.log(line)

    def say(self, line: str) -> None:
        """Log a message and show it."""
        self._display.message(line)
        self._journal.log(line)

    def notices(self, notices: Iterable[tuple[str, bool]]) -> None:
        """Log and show news of hosts, each with whether it is urgent."""
        for line, is_urgent in notices:
            if is_urgent:
                self.warn(f"warning: {line}")
            else:
                self.say(line)

    def results(self, events: Iterable[tuple[Result, Reaction] | str], *, halted: bool) -> None:
        """Log and show stored results with the competition's reactions, and log other lines.

        halted  whether the run ends after the games in progress
        """
        shown: list[str] = []
        milestones: list[str] = []
        for event in events:
            if isinstance(event, str):
                self._journal.log(event)
                continue
            result, reaction = event
            if reaction.snapshot:
                self._journal.snapshot(reaction.snapshot)
            if result.outcome == "void":
                self._display.results(shown)
                shown.clear()
                self.warn("\n".join([reaction.line, *result.detail.splitlines()[1:]]))
                if reaction.warning:
                    self.warn(reaction.warning)
                if halted:
                    self._display.message(f"waiting for {self._unit} in progress")
            else:
                self.completed += 1
                for line in filter(None, (reaction.log, reaction.line)):
                    self._journal.log(line)
                if not isinstance(result, EvaluationResult) and result.forfeit:
                    self._journal.log(f"{result.id}: {result.detail}")
                if reaction.line:
                    shown.append(reaction.line)
                if reaction.milestone:
                    milestones.append(reaction.milestone)
            for code, line in result.stderr:
                self._log_stderr(f"{result.id} {code} stderr: {line}")
            if reaction.line:
                self.recent.append(reaction.line)
        self._display.results(shown)
        for line in milestones:
            self.say(line)
            self.events.start("decision", line)
        if self.events.words and not self._is_doubtful:
            self.look_for_doubt(self._latest_summary())
        del self.recent[:-RECENT]

    def _log_stderr(self, line: str) -> None:
        if self._stderr_room <= 0:
            return
        self._journal.log(line)
        self._stderr_room -= len(line)
        if self._stderr_room <= 0:
            self.warn(
                f"warning: the log has {STDERR_BYTES / 1e6:.0f} MB of the engines' standard error; "
                "more is left out in this run (discard_stderr=True silences a player)"
            )

    def _latest_summary(self) -> Summary:
        """Return the summary, perhaps of a moment ago: ratings of many players take a while."""
        now = time.monotonic()
        if self._summary is None or now >= self._summary_due:
            self._summary = self._loaded.competition.summary(live=True)
            done = time.monotonic()
            self._summary_due = done + SUMMARY_PAUSE * (done - now)
        return self._summary

    def view(
        self,
        executor: Executor,
        started: float,
        limit: int | None,
        control: RunControl,
    ) -> DisplayView:
        """Return the contents of the display.

        started  start of the run, in seconds of the monotonic clock
        limit    games of this run, None without a limit
        """
        summary = self._latest_summary()
        description = self._loaded.control_file.values["description"]
        return DisplayView(
            heading=f"{self._loaded.competition.type_name}: {self._loaded.code}",
            description=(description or "").strip(),
            started=started,
            progress=summary.progress,
            completed_this_run=self.completed,
            limit=limit,
            running={
                job.id: job.who for job in executor.in_progress() if not isinstance(job, CheckJob)
            },
            report=Report(summary.blocks),
            results=list(self.recent),
            warnings=list(self.warnings),
            parallel=executor.slots,
            verdict=summary.verdict,
            state=control.state(),
            hint="Ctrl-C to stop at once" if control.stopping else HINT,
            help=control.help(),
            page=control.page,
        )
