"""Stages of the matchups of a playoff: their order, conditions and verdict.

Each stage of a matchup is a `Matchup` that waits until its time has come.  A race is the first
stage of its candidates.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ringmaster.competitions.tournaments.matchup import OUTCOMES, Matchup
from ringmaster.errors import SettingError, counted
from ringmaster.model.settings import SettingPath
from ringmaster.stats.stopping import Race


class Stage(msgspec.Struct, frozen=True):
    """A stage of every matchup.

    name       "" where a matchup has no stages
    slug       the name as a part of a file name
    place      in the settings
    arguments  settings in the place of the matchup's
    after      number of the stage whose outcome it needs; meaningless for the first one
    """

    name: str = ""
    slug: str = ""
    place: SettingPath = ()
    arguments: Mapping[str, Any] = {}
    after: int = 0
    outcome: str = "ended"


def stages_of(values: Mapping[str, Any]) -> list[Stage]:
    """Return the stages of each matchup in order; one without a name if there are none.

    Raises SettingError.
    """
    stages: list[Stage] = []
    race: Race | None = values["race"]
    if race is not None:
        _check_race(values)
        limits = {"sprt": None, "stop_at": None, "number_of_games": race.number_of_games}
        stages.append(Stage("race", "race", ("race",), limits))
        if not values["stages"]:
            stages.append(Stage("final", "final", after=0, outcome="passed"))
    for number, definition in enumerate(values["stages"]):
        name, place = definition["name"], ("stages", number)
        names = [stage.name for stage in stages]
        after, outcome = names[-1] if names else name, "passed" if names == ["race"] else "ended"
        if definition["only_if"] is not None:
            after, _, outcome = definition["only_if"].rpartition(" ")
            if after not in names or outcome not in OUTCOMES:
                raise SettingError(
                    (*place, "only_if"),
                    f"no stage before {name!r} has name and outcome of {definition['only_if']!r}",
                    " or ".join(f"'{n} passed'" for n in names) or "no condition: it is the first",
                )
        slug = re.sub(r"[^\w.]+", "-", name).strip("-.")
        if slug in ("", *(stage.slug for stage in stages)):
            raise SettingError(
                (*place, "name"),
                f"the name {name!r} has no letter, or is the name of another stage",
                "a name of its own for each stage",
            )
        stages.append(Stage(name, slug, place, definition, [*names, name].index(after), outcome))
    return stages or [Stage()]


def _check_race(values: Mapping[str, Any]) -> None:
    """Raise SettingError for a race without candidates, without one base, or without an aim."""
    candidates = {matchup["p1"] for matchup in values["matchups"]}
    bases = {matchup["p2"] for matchup in values["matchups"]}
    if not 2 <= len(candidates) == len(values["matchups"]) or len(bases) > 1 or candidates & bases:
        raise SettingError(
            ("race",),
            "the matchups of a race are of two or more candidates, each against the same base",
            'matchups = [Matchup("a", "base"), Matchup("b", "base")]',
        )
    if not (values["stages"] or values["sprt"] or values["stop_at"]):
        raise SettingError(
            ("race",),
            "nothing follows the race, whose games choose a player and cannot test it, too",
            "sprt = SPRT(…) or stages = […] for the winner",
        )


def stages_verdict(chains: Sequence[Sequence[Matchup]]) -> str:
    """Return the verdict on the stages of a matchup, or on a race and the stages of its winner."""
    candidates = [chain[0] for chain in chains]
    if not candidates[0].race:
        return _chain_verdict(chains[0])
    for first, *stages in chains:
        if first.accepted == "won":
            behind = [m.codes[0] for m in candidates if m.accepted == "behind"]
            others = " and ".join(behind) if len(behind) < 3 else f"{len(behind)} others"
            unsure = f", {others} not excluded" if behind else ""
            return f"{first.codes[0]} won the race{unsure}; {_chain_verdict(stages)}"
    left = [m for m in candidates if not m.accepted and not m.closed]
    leader = max(left or candidates, key=lambda m: m.results.points(0))
    state = f"race: {len(left)} of {counted(len(candidates), 'candidate')} left"
    return f"{state}; {leader.match_result().difference if leader.tally.known else 'no result yet'}"


def _chain_verdict(chain: Sequence[Matchup]) -> str:
    """Return the stage at which a matchup stands, and its result there."""
    begun = [m for m in chain if m.state not in ("waiting", "skipped")]
    last = begun[-1] if begun else chain[0]
    sentence = last.match_result().sentence()
    states = {m.state for m in chain}
    if states == {"passed"} and len(chain) > 1:
        return f"passed {'both' if len(chain) == 2 else f'all {len(chain)}'} stages: {sentence}"
    if last.state != "passed" and not states & {"waiting", "playing"}:
        return f"{'failed' if last.state == 'failed' else 'undecided'} at {last.stage}: {sentence}"
    past = [f"{m.stage} {m.state}, " for m in begun[:-1]]
    state = f"{''.join(past[-1:])}{last.stage} {last.state}"
    # a stage that is played is not decided
    return f"{state}: {sentence.removeprefix('not decided yet: ')}"
