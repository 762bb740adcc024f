"""What a thorough check found, as text for a person and as data for a program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from ringmaster.model.results import CheckResult, Finding
from ringmaster.reporting.text import cut, pad, sanitise

#: Columns of a name, a detail and a line of an exchange.
NAME, DETAIL, LINE = 34, 160, 160
_WORDS = {"fail": "FAIL", "warn": "warn", "skip": "skip", "pass": "pass"}
_ORDER = ("fail", "warn", "skip", "pass")


def render_check(result: CheckResult, *, verbose: bool = False) -> str:
    """Return the findings on one player: a line with counts, then failures and
    warnings with the exchange that shows each, what could not be tested, and
    suggested settings.

    verbose  whether to list what passed, too
    """
    name = f" ({sanitise(result.name, 80)})" if result.name else ""
    counts = {status: sum(f.status == status for f in result.findings) for status in _ORDER}
    told = [f"{counts['pass']} passed", f"{counts['warn']} warned", f"{counts['fail']} failed"]
    if counts["skip"]:
        told.append(f"{counts['skip']} not tested")
    verdict = "not fit to play" if result.problems else "ok"
    lines = [
        f"player {sanitise(result.code, 80)!r}: {verdict}{name}",
        f"  {', '.join(told)}, in {result.seconds:.1f} s",
    ]
    width = max((len(f.name) for f in result.findings), default=0)
    for status in _ORDER:
        if status == "pass" and not verbose:
            continue
        for finding in result.findings:
            if finding.status == status:
                lines += _lines(finding, min(width, NAME))
    if result.suggestions:
        lines.append("  suggested settings:")
        lines += [f"    {sanitise(text, DETAIL)}" for text in result.suggestions]
    return "\n".join(lines) + "\n"


def _lines(finding: Finding, width: int) -> list[str]:
    name = pad(cut(sanitise(finding.name), width), width)
    first = f"  {_WORDS[finding.status]}  {name}  {sanitise(finding.detail, DETAIL)}".rstrip()
    if finding.status in ("pass", "skip"):
        return [first]
    return [first, *(f"          {sanitise(line, LINE)}" for line in finding.exchange)]


def as_data(results: Sequence[CheckResult], code: str) -> dict[str, Any]:
    """Return what `check --json` prints of a player's tests; nothing after a
    quick check."""
    for result in results:
        if result.code == code and result.findings:
            return {
                "findings": [msgspec.to_builtins(finding) for finding in result.findings],
                "suggestions": list(result.suggestions),
                "seconds": round(result.seconds, 3),
            }
        if result.code == code and result.tested_as:
            return {"tested_as": result.tested_as}
    return {}
