"""What a texel event carries from result to result."""

from __future__ import annotations

from typing import Any

import msgspec

from ringmaster.competitions.texel.terms import Terms
from ringmaster.competitions.tuned_parameters import Named
from ringmaster.competitions.voids import VoidKinds

#: The passes of a beginning have their scores under numbers of their own.
STRIDE = 1_000_000
#: Passes of the quiet filter: the static score, and what it is compared with.
STATIC, COMPARED = -1, -2
#: The pass in which engines print their features.
FEATURES = -3
#: The first pass of a reference engine; a later reference has the number below.
REFERENCE = -4


def score_key(beginning: int, number: int) -> int:
    """Return under which number the store has the scores of a pass."""
    return number + (beginning if number >= 0 else -beginning) * STRIDE


class Open(msgspec.Struct, omit_defaults=True):
    """A pass of which not all shards have come back.

    part    as of a Pass, a batch as a list
    shards  their numbers, in the order of giving out
    losses  Σ weight·loss of each of them, None while it is awaited
    next    place of the next one to be given out
    """

    theta: list[float]
    part: str | list[int]
    keep: bool
    shards: list[int]
    losses: list[float | None]
    next: int = 0

    @property
    def complete(self) -> bool:
        """Whether all shards have come back."""
        return None not in self.losses


class Quality(msgspec.Struct, omit_defaults=True):
    """Mean errors of some values, None where nothing is held out or known."""

    train: float | None = None
    validation: float | None = None


class Chapter(msgspec.Struct):
    """A tune that was begun anew: what it came to.

    why     the edit that ended it
    passes  that were told
    start, best  its errors at the beginning and at the best values, `values`
    """

    why: str
    passes: int
    start: Quality
    best: Quality
    values: Named


class Improvement(msgspec.Struct):
    """How much smaller an error has become, with its 95 % interval.

    part   what it was measured on: "validation" or "train"
    share  of resamples (games drawn anew) in which the error is smaller
    """

    part: str
    value: float
    low: float
    high: float
    share: float
    games: int = 0


class Labelling(msgspec.Struct):
    """What was fixed when the start values' scores were known.

    scale, teacher_scale  centipawns; the teacher's None where it has no part
    fitted    which of the two were fitted
    warnings  lines for the user
    weights   Σ weight of each shard
    left_out  positions that do not count, by reason
    score_cap  largest score by the start values of positions without a teacher's score,
              centipawns; None in files of versions that had no such cap
    """

    scale: float
    teacher_scale: float | None
    fitted: list[str]
    warnings: list[str]
    weights: list[float]
    left_out: dict[str, int]
    score_cap: float | None = None


class State(msgspec.Struct):
    """The state that a tune carries from result to result.

    terms      what it is tuned by
    engine     the player, as far as scores depend on it
    key, digest  of the position file, and of what is in it; "" before it has been read
    train, validation  how many positions there are
    notes      what was said when they were read
    beginning  how often the optimiser has begun anew
    values     of all parameters, where this beginning starts
    left       of parameters that are not in the control file any more
    probes     how many have been given out
    probe_due  whether one is wanted; probe_out: the one under way
    facts      what the last one found, None while that is not known
    in_flight  the setting, as it was when the engine was probed
    filters    the passes of the quiet filter that are under way or done
    open       the optimiser's passes under way, by number
    asked, told  passes, in this beginning
    optimiser  its state; None before it is asked
    reference  the reference engine, as far as its scores depend on it
    reference_pass  number of its pass
    sweep      the targets that are swept, as JSON data
    comparison  how its errors compare, None until it has been scored
    kept       passes whose scores the store has
    stale      keys of scores that are not needed any more, from beginnings before
    best       by what is best so far
    shards, positions, seconds  that have come back, in all
    """

    terms: Terms
    engine: dict[str, Any]
    values: Named
    key: str = ""
    digest: str = ""
    train: int = 0
    validation: int = 0
    notes: list[str] = []
    beginning: int = 0
    left: Named = {}
    probes: int = 0
    probe_due: bool = True
    probe_out: int | None = None
    facts: dict[str, Any] | None = None
    in_flight: int | str | None = None
    filters: dict[str, Open] = {}
    open: dict[str, Open] = {}
    asked: int = 0
    told: int = 0
    told_before: int = 0
    optimiser: dict[str, Any] | None = None
    limits: dict[str, Any] = {}
    reference: dict[str, Any] | None = None
    reference_pass: int = REFERENCE
    sweep: list[dict[str, Any]] | None = None
    comparison: dict[str, Any] | None = None
    labelling: Labelling | None = None
    kept: list[int] = []
    stale: list[int] = []
    start: Quality = msgspec.field(default_factory=Quality)
    best: Quality = msgspec.field(default_factory=Quality)
    best_values: Named = {}
    done: bool = False
    improvement: Improvement | None = None
    entropies: dict[str, dict[str, float | None]] = {}
    calibration: dict[str, list[list[float]]] = {}
    earlier: list[Chapter] = []
    shards: int = 0
    positions: int = 0
    seconds: float = 0.0
    void: int = 0
    void_in_a_row: int = 0
    matches: list[dict[str, Any]] = []
    void_kinds: VoidKinds = {}

    @property
    def passes(self) -> int:
        """Passes that have been told, in all beginnings."""
        return self.told_before + self.told
