"""What is said of a shard or a probe that has come back, and when a run has to end."""

from __future__ import annotations

import msgspec

from ringmaster.competitions.competition import Verdict
from ringmaster.competitions.texel.probing import found_lines, problem_of
from ringmaster.competitions.texel.state import State
from ringmaster.competitions.voids import count_void
from ringmaster.model.jobs import ScoreKind, Ticket
from ringmaster.model.results import EvaluationResult


def shard_id(ticket: Ticket) -> str:
    """Return the id of a shard's job."""
    beginning, number = ticket["e"], ticket["p"]
    name = f"p{number}" if number >= 0 else f"q{-number}"
    return f"{f'e{beginning}' if beginning else ''}{name}_{ticket['i']:04d}"


def shard_line(ticket: Ticket, result: EvaluationResult) -> str:
    """Return what the log says of a shard."""
    rate = result.positions / result.seconds if result.seconds > 0 else 0.0
    return (
        f"{shard_id(ticket)}: {result.positions:,} positions in {result.seconds:.2f} s"
        f" ({rate:,.0f}/s)"
    )


def take_void(state: State, ticket: Ticket, result: EvaluationResult, code: str) -> Verdict:
    """Return the verdict on a result that does not count: it is tried again, and the run ends
    when the first one of all, or one for the second time, is void.

    code  of the player that evaluates
    """
    first = not state.shards
    state.void += 1
    state.void_in_a_row += 1
    count_void(state.void_kinds, result, [code])
    what = "the probe" if "n" in ticket else f"shard {shard_id(ticket)}"
    attempt = f", attempt {result.attempt + 1}" if result.attempt else ""
    detail = result.detail.splitlines()[0] if result.detail else ""
    line = f"{what}: void ({result.reason}{attempt}): {detail}"
    why = detail or result.reason
    halt = ""
    if result.attempt:
        halt = f"{what} was void twice: {why}"
    elif first:
        halt = f"the first evaluation was void: {why}"
    elif state.void_in_a_row > 2:
        halt = f"three shards in a row were void: {why}"
    return Verdict(line, replay=True, halt=halt)


def take_probe(state: State, ticket: Ticket, result: EvaluationResult, score: ScoreKind) -> Verdict:
    """Take what a probe found into the state."""
    if ticket["n"] == state.probe_out:
        state.probe_out = None
    codes = [p.code for p in state.terms.tuned]
    problem = problem_of(result.facts, codes)
    if problem:
        state.facts = None
        return Verdict("probe: nothing can be tuned like this", halt=problem, save=True)
    state.facts = dict(result.facts)
    state.probe_due = False
    line, *notes = found_lines(state.facts, codes, score)
    return Verdict(line, notes=tuple(notes), save=True)


def made_void(result: EvaluationResult, reason: str, detail: str) -> EvaluationResult:
    """Return a result that does not count."""
    return msgspec.structs.replace(
        result, outcome="void", reason=reason, detail=detail, scores=None, answers=None
    )
