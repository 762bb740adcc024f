"""The probe: what is found out of an engine before its scores are relied on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ringmaster.competitions.tuned_parameters import Named
from ringmaster.model.jobs import Apply, Probe, ScoreKind
from ringmaster.model.parameters import TunedParameter
from ringmaster.model.players import Player


def probe_of(
    tuned: Sequence[TunedParameter],
    values: Named,
    candidate: Callable[[Named], Player],
    apply: str,
    in_flight: int | str,
) -> Probe:
    """Return what a probe is to find out.

    values  of all parameters, where the tune begins
    apply, in_flight  settings; "auto": to be found out
    """
    changed = []
    for parameter in tuned:
        here = values[parameter.code]
        # the bound that is farther away
        far = max((parameter.minimum, parameter.maximum), key=lambda end: abs(end - here))
        changed.append(candidate({**values, parameter.code: parameter.engine_value(far)}))
    wanted: Apply | None = None if apply == "auto" else apply  # type: ignore[assignment]  # one of them
    count = in_flight if isinstance(in_flight, int) else None
    return Probe(tuple(changed), wanted, count)


def problem_of(facts: dict[str, Any], codes: Sequence[str]) -> str:
    """Return why nothing can be tuned with what a probe has found, "" if it can."""
    if facts.get("problem"):
        return str(facts["problem"])
    moved = facts.get("moved")
    if moved is not None and len(moved) and not any(moved):
        named = ", ".join(codes[:5]) + ("…" if len(codes) > 5 else "")
        return (
            f"the engine's scores do not change with any parameter ({named}): is it the "
            "evaluation that they belong to, and does `score` ask for that?"
        )
    return ""


def repeats(facts: dict[str, Any], score: ScoreKind) -> str:
    """Return whether scores can be repeated, in words; "" where a probe did not say so."""
    if facts.get("repeatable") is False:
        return "not repeatable"
    if "repeatable" not in facts:
        return ""
    if score.go is not None and facts.get("apply") != "restart":
        return "repeatable in the probe, which a longer run may refute"
    return "repeatable"


def found_lines(facts: dict[str, Any], codes: Sequence[str], score: ScoreKind) -> list[str]:
    """Return what a probe has found, a line each."""
    when = {
        "live": "at once",
        "newgame": "after a new game",
        "restart": "in a new process only",
    }
    parts = [str(facts["name"])] if facts.get("name") else []
    parts += [f"takes values {when.get(str(facts.get('apply')), 'unknown')}"]
    parts += [f"{facts.get('in_flight', 1)} in flight"]
    if facts.get("rate"):
        parts.append(f"{facts['rate']:,.0f} positions/s")
    lines = ["probe: " + ", ".join(parts)]
    if facts.get("repeatable") is False:
        reason = "; a search needs one thread and a limit that is no time" if score.go else ""
        lines.append(f"warning: the same positions do not get the same scores every time{reason}")
    elif score.go is not None and facts.get("apply") != "restart":
        lines.append(
            "warning: tables that outlive a new game may change scores of later shards, so "
            'another run may end otherwise; apply = "restart" prevents it'
        )
    if facts.get("none"):
        lines.append(f"{100 * facts['none']:.3g} % of the positions get no score (in check)")
    still = [
        code for code, moved in zip(codes, facts.get("moved") or (), strict=False) if not moved
    ]
    if still:
        lines.append(f"warning: no score changes with {', '.join(still)}")
    return lines
