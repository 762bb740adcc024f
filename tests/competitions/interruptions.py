"""A competition that is played through interruptions must come out as one that
never was interrupted.

`Play` keeps what a store would keep: the state of some result, the results
since, and the jobs that have been given out.  `interrupt` makes a fresh
competition from these, as a new run does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from ringmaster.model.jobs import GameJob, Ticket
from ringmaster.model.results import GameResult


class Play:
    """A competition with its store.

    make     makes a fresh competition of the same settings
    """

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self.competition = make()
        self._state = b""
        self._since: list[tuple[Ticket, GameResult]] = []
        self.issued: dict[str, GameJob] = {}
        self.halted = ""
        self.save()

    def save(self) -> None:
        """Store the state as of the last result."""
        self._state = msgspec.json.encode(self.competition.state())
        self._since = []

    def issue(self) -> GameJob | None:
        """Give a job out."""
        job: GameJob | None = self.competition.next_job()
        if job is not None:
            assert job.id not in self.issued, "an id is given once"
            self.issued[job.id] = job
        return job

    def finish(self, game_id: str, made: GameResult) -> Any:
        """Let a job that was given out come back."""
        job = self.issued.pop(game_id)
        ticket = msgspec.json.decode(msgspec.json.encode(job.ticket))
        self._since.append((ticket, made))
        verdict = self.competition.take(ticket, made)
        if verdict.replay:
            self.issued[job.id] = msgspec.structs.replace(job, attempt=job.attempt + 1)
        self.halted = self.halted or verdict.halt
        return verdict

    def interrupt(self) -> None:
        """Stop, by whatever means, and start again."""
        self.competition = self._make()
        self.competition.restore(msgspec.json.decode(self._state))
        for ticket, result in self._since:
            self.competition.take(ticket, result)
        self.competition.adopt([job.ticket for job in self.issued.values()])
        for game_id, job in list(self.issued.items()):
            ticket = msgspec.json.decode(msgspec.json.encode(job.ticket))
            if self.competition.resume(ticket):
                again = self.competition.make_job(game_id, job.attempt, ticket)
                assert again == msgspec.structs.replace(job, ticket=again.ticket)
                self.issued[game_id] = again
