"""Closing matches: which values, which games, when a new one begins, what is told."""

from __future__ import annotations

from typing import Any

from tests.competitions.settings_of import again, call, drawn, won
from tests.competitions.test_spsa import options, play_out, spsa


def test_closing_match_is_tuned_against_start_on_fresh_openings(tmp_path: Any) -> None:
    book = tmp_path / "book.epd"
    lines = [
        f"rnbqkbnr/pppppppp/8/8/8/{f}/PPPPPPPP/RNBQKB1R b KQkq -".replace("PPPPPPPP/", "PPPPPPPP/")
        for f in ("5N2", "7N", "N7", "2N5")
    ]
    book.write_text("\n".join(lines) + "\n")
    tune = spsa(
        number_of_games=4, verify=call("Verify", games=4), openings=call("Openings", str(book))
    )
    tune.prepare()
    used = set()
    for _ in range(4):
        job = tune.next_job()
        used.add(job.opening.source)
        tune.take(job.ticket, won(job, "e+"))
    assert not tune.finished()
    job = tune.next_job()
    assert [p.code for p in job.players] == ["e:tuned", "e:start"]
    assert options(job)[1]["Mobility"] == 50
    assert options(job)[0]["Mobility"] == tune.summary()["parameters"][0]["engine_value"]
    assert job.opening.source not in used
    tune.take(job.ticket, won(job, "e:tuned"))
    for _ in range(3):
        job = tune.next_job()
        tune.take(job.ticket, won(job, "e:tuned"))
    assert tune.finished()
    assert tune.next_job() is None
    assert tune.summary()["matchups"][0]["wins"] == [4, 0]


def test_closing_match_waits_for_the_last_iteration() -> None:
    tune = spsa(number_of_games=2, verify=call("Verify", games=2))
    jobs = [tune.next_job(), tune.next_job()]
    assert tune.next_job() is None
    tune.take(jobs[0].ticket, won(jobs[0], "e+"))
    assert tune.next_job() is None
    tune.take(jobs[1].ticket, won(jobs[1], "e+"))
    assert tune.next_job().ticket == {"v": 1, "g": 0}


def test_closing_match_begins_anew_when_the_tune_has_gone_on() -> None:
    tune = spsa(verify=call("Verify", games=4))
    play_out(tune, 22)
    longer = again(tune, spsa(number_of_games=24, verify=call("Verify", games=4)))
    for _ in range(4):
        job = longer.next_job()
        longer.take(job.ticket, drawn(job))
    play_out(longer)
    assert longer.finished()
    first, second = longer.closing.matches
    assert (first.told, second.told) == (10, 12)
    assert (first.tally.completed, second.tally.completed) == (2, 4)
