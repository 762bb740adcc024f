"""The executor on a cluster, with scripted hosts: placing, losing, refusing, measuring."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.errors import ExecutorError
from ringmaster.execution import cluster_hosts, sharing
from ringmaster.execution.cluster_hosts import CHANCE, RENEWAL, SETTLING, Health
from ringmaster.execution.dask_executor import DaskExecutor
from ringmaster.execution.dask_link import Ended, Prepared, Silence, Upkeep, Workers
from ringmaster.execution.dask_protocol import HostFacts
from ringmaster.execution.executor import Done, JobEnd, Lost
from ringmaster.execution.sharing import Neighbours, Presence
from ringmaster.model.cluster import Calibration, Cluster, Host
from ringmaster.model.jobs import CheckJob, EvaluationJob, GameJob, Job
from ringmaster.model.players import Player
from ringmaster.model.results import CheckResult, EngineUsage, GameResult, JobResult
from ringmaster.model.time_control import TimeControl
from tests.execution.fake_link import FakeLink
from tests.execution.scripted_work import PLAYER, SETTINGS, check, expected, game, holder

Make = Callable[..., DaskExecutor]


@pytest.fixture
def link() -> FakeLink:
    return FakeLink()


@pytest.fixture
def make(link: FakeLink) -> Iterator[Make]:
    opened: list[DaskExecutor] = []

    def start(cluster: Cluster | None = None, **arguments: object) -> DaskExecutor:
        executor = DaskExecutor("no:matter", lambda: link, cluster or Cluster(), **arguments)  # type: ignore[arg-type]
        opened.append(executor)
        return executor

    yield start
    for executor in opened:
        executor.close()


def news(executor: DaskExecutor) -> list[JobEnd]:
    """Let the executor work through all news."""
    events: list[JobEnd] = []
    for _ in range(4):
        events += executor.wait(0)
    return events


def with_one_host(link: FakeLink, make: Make) -> DaskExecutor:
    """Return an executor whose only host plays one game at a time."""
    executor = make()
    link.join("tcp://one", 1)
    news(executor)
    return executor


def told(executor: DaskExecutor) -> list[str]:
    return [text for text, _ in executor.notices()]


def done(events: list[JobEnd]) -> list[str]:
    return [event.job.id for event in events if isinstance(event, Done)]


def lost(events: list[JobEnd]) -> dict[str, str]:
    return {event.job.id: event.reason for event in events if isinstance(event, Lost)}


# placing


def test_long_jobs_have_a_task_each_on_the_emptiest_hosts(link: FakeLink, make: Make) -> None:
    executor = make()
    link.join("tcp://one", 1)
    link.join("tcp://two", 2)
    news(executor)
    assert (executor.slots, executor.room()) == (3, 3)
    for n in range(5):
        executor.submit(game(n))
    news(executor)
    assert [(task.address, task.ids) for task in link.tasks] == [
        ("tcp://one", ["0_0"]),
        ("tcp://two", ["0_1"]),
        ("tcp://two", ["0_2"]),
    ]
    link.answer(seconds=10)
    assert done(news(executor)) == ["0_0"]
    assert link.tasks[-1].address == "tcp://one"
    assert link.tasks[-1].ids == ["0_3"]


def test_jobs_hold_tokens_of_their_host_and_of_the_run(link: FakeLink, make: Make) -> None:
    executor = make(Cluster(resources={"gpu0": 1}), resources={"licence": 3})
    link.join("tcp://one", 4)
    link.join("tcp://two", 4)
    news(executor)
    needy, free = holder("a", gpu0=1, licence=1), holder("b")
    licensed = holder("c", licence=1)
    for n in range(4):
        executor.submit(game(n, needy, free))
    for n in range(4, 7):
        executor.submit(game(n, licensed, free))
    executor.submit(game(7, free, free))
    # one for the card of each host, the third licence, and a game that needs nothing
    assert [task.ids for task in link.tasks] == [["0_0"], ["0_1"], ["0_4"], ["0_7"]]
    assert {task.address for task in list(link.tasks)[:2]} == {"tcp://one", "tcp://two"}
    assert executor.room() == 4
    first = link.answer(seconds=10)
    assert done(news(executor)) == ["0_0"]
    assert (link.tasks[-1].address, link.tasks[-1].ids) == (first.address, ["0_2"])


def test_tokens_of_lost_jobs_are_given_back(link: FakeLink, make: Make) -> None:
    executor = make(Cluster(resources={"gpu0": 1}), resources={"licence": 1})
    link.join("tcp://one", 2)
    news(executor)
    job = game(0, holder("a", gpu0=1, licence=1), holder("b"))
    for way in (
        lambda: link.lose(link.tasks[0]),
        lambda: link.answer(lost="a fault"),
        lambda: (link.leave("tcp://one"), link.tasks.clear(), link.join("tcp://one", 2, id="new")),
    ):
        executor.submit(job)
        news(executor)
        assert [task.ids for task in link.tasks] == [["0_0"]]
        way()
        assert list(lost(news(executor))) == ["0_0"]
    executor.submit(job)
    news(executor)
    assert [task.ids for task in link.tasks] == [["0_0"]]


def test_short_jobs_share_tasks_and_wait_at_their_host(link: FakeLink, make: Make) -> None:
    executor = make()
    link.join("tcp://one", 2)
    news(executor)
    for n in range(3):
        assert executor.room(ahead=True) == 2
        executor.submit(game(-n))
        news(executor)
        link.answer(seconds=0.001)
        news(executor)
    executor.submit(check(0))
    news(executor)
    link.answer(seconds=30.0)
    news(executor)
    assert executor.room() == 2
    assert executor.room(ahead=True) == 2 + 1000
    for n in range(1, 1003):
        executor.submit(game(n))
    news(executor)
    assert len(link.tasks) == 3
    assert max(len(task.ids) for task in link.tasks) == 500
    assert executor.room(ahead=True) == 0
    while link.tasks:
        link.answer(seconds=0.001)
    assert sorted(done(news(executor))) == sorted(f"0_{n}" for n in range(1, 1003))


def test_limit_of_the_command_line_holds_on_all_hosts_together(link: FakeLink, make: Make) -> None:
    executor = make(most=3)
    for name in "abcd":
        link.join(f"tcp://{name}", 2)
    news(executor)
    assert executor.slots == executor.room(ahead=True) == 3
    for n in range(8):
        executor.submit(game(n))
    news(executor)
    assert len(link.tasks) == 3
    link.answer()
    news(executor)
    assert len(link.tasks) == 3


def test_more_jobs_at_a_time_never_lower_the_limit_for_hosts_to_come(
    link: FakeLink, make: Make
) -> None:
    executor = make(most=6)
    executor.resize(1)  # "fewer" before the first host
    link.join("tcp://one", 2)
    news(executor)
    executor.resize(3)
    link.join("tcp://two", 4)
    news(executor)
    assert executor.slots == 6
    executor.resize(7)
    link.join("tcp://three", 4)
    news(executor)
    assert executor.slots == 7
    executor.resize(2)
    assert executor.slots == 2


@given(st.lists(st.sampled_from("jlsad"), max_size=60), st.integers(1, 4))
def test_every_job_ends_once_whatever_hosts_do(steps: list[str], slots: int) -> None:
    # j: a host joins, l: one leaves, s: a job is submitted, a: a task is answered,
    # d: an answer arrives a second time
    link = FakeLink()
    executor = DaskExecutor("no:matter", lambda: link, Cluster())
    submitted: dict[str, Job] = {}
    ended: list[str] = []
    old: list[Ended] = []
    hosts: list[str] = []

    def settle() -> None:
        for event in news(executor):
            if isinstance(event, Lost):
                executor.submit(event.job)
            else:
                assert event.result == msgspec.structs.replace(
                    expected(event.job),  # type: ignore[type-var]  # a game
                    host=event.result.host,  # type: ignore[union-attr]
                )
                ended.append(event.job.id)

    for step, letter in enumerate(steps):
        if letter == "j":
            hosts.append(f"tcp://{step}")
            link.join(hosts[-1], slots)
        elif letter == "l" and hosts:
            link.leave(hosts.pop(0))
        elif letter == "s":
            submitted[f"0_{step}"] = game(step, n=step)
            executor.submit(submitted[f"0_{step}"])
        elif letter == "a" and link.tasks:
            task = link.answer()
            old.append(link._news[-1])  # type: ignore[arg-type]  # an answer
            assert task.key
        elif letter == "d" and old:
            link.post(old[0])
        settle()
    link.join("tcp://last", 3)
    settle()
    while executor.running():
        link.answer()
        settle()
    assert sorted(ended) == sorted(submitted)
    executor.close()


# losing


def test_host_that_leaves_loses_its_jobs_and_its_late_answer_changes_nothing(
    link: FakeLink, make: Make
) -> None:
    executor = with_one_host(link, make)
    executor.submit(game(0))
    executor.submit(game(1))
    news(executor)
    task = link.tasks[0]
    link.leave("tcp://one")
    assert lost(news(executor)) == {"0_0": "host one: it has left"}
    assert link.forgotten == [task.key]
    assert "host one has left; 1 job in progress" in told(executor)
    link.answer(task)
    assert news(executor) == []
    assert [job.id for job in executor.running()] == ["0_1"]


def test_worker_that_returns_under_its_old_address_is_a_new_host(
    link: FakeLink, make: Make
) -> None:
    executor = with_one_host(link, make)
    executor.submit(game(0))
    news(executor)
    link.join("tcp://one", 1, id="another process")
    assert list(lost(news(executor))) == ["0_0"]
    assert executor.room() == 1


def test_job_whose_work_raises_three_times_ends_the_run(link: FakeLink, make: Make) -> None:
    executor = with_one_host(link, make)
    for _ in range(3):
        executor.submit(game(0))
        news(executor)
        link.answer(lost="worker 0 was killed by SIGKILL")
        (event,) = executor.wait(1.0)
        assert isinstance(event, Lost)
        assert event.reason == "host one: worker 0 was killed by SIGKILL"
    with pytest.raises(ExecutorError, match="job 0_0 was lost 3 times"):
        executor.wait(0)


def test_jobs_lost_with_hosts_never_end_the_run(link: FakeLink, make: Make) -> None:
    executor = make()
    for n in range(8):
        link.join("tcp://one", 1, id=str(n))
        news(executor)
        executor.submit(game(0))
        news(executor)
        link.leave("tcp://one")
        assert list(lost(news(executor))) == ["0_0"]


def test_silent_scheduler_ends_the_run_with_a_remedy(link: FakeLink, make: Make) -> None:
    executor = make()
    link.post(Silence(61.0, "TimeoutError"))
    with pytest.raises(ExecutorError, match=r"not answered for 61 s.*run it again to resume"):
        executor.wait(1.0)


def test_worker_that_knows_nothing_of_the_run_is_prepared_again(link: FakeLink, make: Make) -> None:
    executor = with_one_host(link, make)
    executor.submit(game(0))
    news(executor)
    link.answer(unprepared=True)
    (event,) = executor.wait(1.0)
    assert isinstance(event, Lost)
    assert event.told
    executor.submit(game(0))
    news(executor)
    link.answer()
    assert done(news(executor)) == ["0_0"]
    assert [text for text in told(executor) if "joins" not in text] == []


def test_lost_scheduler_is_told_once_and_a_lost_host_is_not_taken_for_it(
    link: FakeLink, make: Make
) -> None:
    executor = make()
    link.join("tcp://one", 3)
    news(executor)
    for n in range(3):
        executor.submit(game(n))
    news(executor)
    told(executor)
    tasks = list(link.tasks)
    for task in tasks[:2]:
        link.lose(task, is_cut=True)
    assert len(lost(news(executor))) == 2
    assert told(executor) == ["the scheduler does not answer; the run goes on when it does"]
    link.leave("tcp://one")
    link.lose(tasks[2], is_cut=True)
    assert len(lost(news(executor))) == 1
    assert not any("scheduler" in text for text in told(executor))


# refusing


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"refusal": "it has ringmaster 0.0.9, this is 1"}, "it has ringmaster 0.0.9, this is 1"),
        (
            {"builds": {"a": "bbbb"}},
            r"a is another file there \(SHA-256 bbbb\) than in this competition",
        ),
        ({"builds": {"a": "aaaa"}, "missing": ("00",)}, "it did not keep 1 shipped file"),
    ],
)
def test_host_that_differs_is_not_used(
    link: FakeLink, make: Make, facts: dict[str, object], reason: str
) -> None:
    executor = make(players=[PLAYER], builds={"a": "aaaa"})
    link.join("tcp://one", 1, builds={"a": "aaaa"})
    link.join("tcp://two", 1, **facts)
    news(executor)
    assert executor.slots == 1
    notices = executor.notices()
    (text,) = [text for text, is_urgent in notices if is_urgent]
    assert re.fullmatch(rf"host two is not used: {reason}( \(aaaa\))?", text)
    link.leave("tcp://one")
    news(executor)
    assert told(executor)[-1] == "no host is left that can play; waiting for workers"


def test_hosts_with_the_file_of_most_hosts_play_whichever_joined_first(
    link: FakeLink, make: Make
) -> None:
    executor = make(players=[PLAYER])
    link.join("tcp://stale", 1, builds={"a": "bbbb"})
    for name in ("one", "two", "three"):
        link.join(f"tcp://{name}", 1, builds={"a": "aaaa"})
    news(executor)
    assert executor.slots == 3
    assert executor.refused() == [
        "host stale is not used: a is another file there (SHA-256 bbbb) than on most hosts (aaaa)"
    ]
    assert executor.programs() == {"a": "aaaa"}
    link.join("tcp://late", 1, builds={"a": "bbbb"})
    news(executor)
    assert executor.slots == 3


def test_stale_hosts_are_refused_though_they_are_more_when_this_machine_has_the_program(
    link: FakeLink, make: Make
) -> None:
    executor = make(players=[PLAYER], builds={"a": "aaaa", "net.bin": "cccc"})
    for name in ("one", "two"):
        link.join(f"tcp://{name}", 1, builds={"a": "bbbb"})
    link.join("tcp://three", 1, builds={"a": "aaaa", "net.bin": "dddd"})
    link.join("tcp://four", 1, builds={"a": "aaaa", "net.bin": "cccc"})
    news(executor)
    assert executor.slots == 1
    assert [line.split(":")[0] for line in executor.refused()] == [
        f"host {name} is not used" for name in ("one", "two", "three")
    ]
    assert (
        "net.bin is another file there (SHA-256 dddd) than in this competition (cccc)"
        in executor.refused()[2]
    )


def test_host_without_a_network_of_this_machine_is_not_used(
    link: FakeLink, make: Make, tmp_path: Path
) -> None:
    net = tmp_path / "net.bin"
    net.write_bytes(b"\0")
    player = msgspec.structs.replace(PLAYER, options={"EvalFile": str(net)})
    executor = make(players=[player], builds={"a": "aaaa", str(net): "cccc"})
    link.join("tcp://one", 1, builds={"a": "aaaa"})
    link.join("tcp://two", 1, builds={"a": "aaaa", str(net): "cccc"})
    news(executor)
    assert executor.refused() == [f"host one is not used: it has no file {net}"]


def test_run_ends_when_no_file_is_on_most_hosts(link: FakeLink, make: Make) -> None:
    executor = make(players=[PLAYER])
    link.join("tcp://one", 1, builds={"a": "aaaa"})
    link.join("tcp://two", 1, builds={"a": "bbbb"})
    with pytest.raises(ExecutorError, match="no file is on most hosts"):
        news(executor)


def test_host_of_a_refused_result_gets_no_more_games(link: FakeLink, make: Make) -> None:
    executor = make(players=[PLAYER])
    link.join("tcp://one", 1)
    link.join("tcp://two", 1)
    news(executor)
    for _ in range(2):
        assert executor.refuse(Host("one"), "its engine is another one")
    assert executor.refused() == ["host one is not used: its engine is another one"]
    assert executor.slots == 1
    executor.submit(game(0))
    news(executor)
    assert [task.address for task in link.tasks] == ["tcp://two"]


def test_run_ends_when_every_host_is_refused(link: FakeLink, make: Make) -> None:
    executor = make()
    link.join("tcp://one", 1, refusal="it has no program a")
    link.join("tcp://two", 1, refusal="it has less memory than one game may use")
    with pytest.raises(ExecutorError, match="no host can play:\nhost one is not used: it has no"):
        news(executor)


def test_worker_that_cannot_be_prepared_is_not_used(link: FakeLink, make: Make) -> None:
    executor = make()
    link.join("tcp://one", 1)
    link.prepare = lambda *_: link.post(  # type: ignore[method-assign]  # never succeeds
        Prepared("tcp://one", "id of one", 0, HostFacts("", refusal="it has no ringmaster"))
    )
    with pytest.raises(ExecutorError, match="host tcp://one is not used: it has no ringmaster"):
        news(executor)


def test_worker_is_prepared_again_after_each_failure_of_the_network(
    link: FakeLink, make: Make
) -> None:
    executor = make()
    link.join("tcp://one", 1)
    listed = link.take()
    for _ in range(5):
        link.post(*listed)
        link.prepare = lambda *_: link.post(  # type: ignore[method-assign]  # fails for once
            Prepared("tcp://one", "id of one", 0, HostFacts("", refusal="OSError"), True)
        )
        news(executor)
    assert told(executor) == ["host tcp://one does not answer (OSError); trying again"]
    del link.prepare  # type: ignore[method-assign]
    link.post(*listed)
    news(executor)
    executor.submit(game(0))
    news(executor)
    assert len(link.tasks) == 1


def named(name: str) -> Callable[[Job], JobResult]:
    def result(job: Job) -> JobResult:
        usage = EngineUsage(name=name)
        return GameResult(game_id=job.id, attempt=0, outcome="draw", usage=(usage, usage))

    return result


def test_host_with_too_few_cpus_for_its_games_is_warned_of(link: FakeLink, make: Make) -> None:
    executor = make(players=[Player("a", ("a",), options={"Threads": 4}), PLAYER])
    link.join("tcp://one", 2, cpus=6, cores=3, builds={"a": "aaaa"})
    news(executor)
    assert executor.slots == 2
    (text,) = [text for text, is_urgent in executor.notices() if is_urgent]
    assert text == (
        "host one has 6 CPUs, but its games need 8 CPUs: engines lose time and strength there"
    )


def test_host_with_another_python_is_named(link: FakeLink, make: Make) -> None:
    executor = make()
    link.join("tcp://one", 1, python="3.2.1")
    news(executor)
    (text,) = [text for text, is_urgent in executor.notices() if is_urgent]
    assert text.startswith("host one has Python 3.2.1, and this machine ")
    assert text.endswith(": Dask supports no such mix; install one version")


def test_workers_of_a_machine_with_cpus_of_their_own_may_pin_games(
    link: FakeLink, make: Make
) -> None:
    executor = make(Cluster(pin=True))
    link.join("tcp://one", 1, name="machine", has_own_cpus=True)
    link.join("tcp://two", 1, name="machine", has_own_cpus=True)
    news(executor)
    assert executor.slots == 2


def test_host_gets_no_game_that_would_not_end_before_it_leaves(link: FakeLink, make: Make) -> None:
    executor = make()
    link.join("tcp://one", 1, lasts=1000.0)
    link.join("tcp://two", 1)
    news(executor)
    for _ in range(2):
        executor.submit(game(0))
        executor.submit(game(1))
        news(executor)
        for task in list(link.tasks):
            link.answer(task, seconds=900.0)
        news(executor)
    assert executor.slots == 1
    executor.submit(game(2))
    news(executor)
    assert [task.address for task in link.tasks] == ["tcp://two"]


def test_run_ends_when_no_host_has_been_there_for_too_long(link: FakeLink, make: Make) -> None:
    executor = make(Cluster(kind="slurm", options={"jobs": 2}, wait_for_hosts=1e-9))
    link.post(Upkeep("2 Slurm jobs submitted: 7, 8", False, 2), Workers({}))
    news(executor)  # they are in the queue
    link.join("tcp://one", 1)
    news(executor)
    link.leave("tcp://one")
    news(executor)
    link.post(Upkeep("Slurm job 7 has ended"), Upkeep(queued=0), Workers({}), Workers({}))
    with pytest.raises(ExecutorError, match=r"no host .* run it again to resume\nSlurm job 7"):
        news(executor)


def test_no_job_is_in_progress_before_a_host_has_joined(link: FakeLink, make: Make) -> None:
    executor = make()
    executor.submit(game(0))
    news(executor)
    assert executor.in_progress() == []
    link.join("tcp://one", 1)
    news(executor)
    assert executor.in_progress() == executor.running() == [game(0)]


def test_run_waits_for_hosts_to_come_while_the_first_is_refused(link: FakeLink, make: Make) -> None:
    executor = make(Cluster(kind="ssh", options={"hosts": ["one", "two"]}))
    link.join("tcp://one", 1, refusal="it has no program a")
    news(executor)
    link.join("tcp://two", 1)
    news(executor)
    executor.submit(game(0))
    news(executor)
    assert [task.address for task in link.tasks] == ["tcp://two"]


def test_second_worker_of_a_machine_is_not_used_with_pinned_games(
    link: FakeLink, make: Make
) -> None:
    executor = make(Cluster(pin=True))
    link.join("tcp://one", 1, name="machine")
    link.join("tcp://two", 1, name="machine")
    news(executor)
    assert executor.slots == 1
    assert told(executor)[-1] == (
        "host machine-2 is not used: pin needs one worker a machine, and machine has another"
    )


def test_host_with_more_faults_than_chance_allows_gets_no_more_games(
    link: FakeLink, make: Make
) -> None:
    executor = make()
    for name in ("good", "fair", "bad"):
        link.join(f"tcp://{name}", 1)
    news(executor)

    def ended(reason: str) -> Callable[[Job], JobResult]:
        return lambda job: GameResult(game_id=job.id, attempt=0, outcome="draw", reason=reason)

    for number in range(100):
        for slot in range(executor.slots):
            executor.submit(game(f"{number}_{slot}"))
        news(executor)
        for task in list(link.tasks):
            is_late = task.address == "tcp://bad" and number % 2
            link.answer(task, result=ended("time" if is_late else "mate"))
        news(executor)
        if executor.slots == 2:
            break
    text = told(executor)[-1]
    assert text.startswith("host bad gets no more games: ")
    assert "an engine that lost on time, crashed or hung, and 0 of" in text


def test_equal_hosts_are_seldom_taken_for_bad_ones() -> None:
    import random

    rng = random.Random(1)
    verdicts = 0
    for _ in range(60):
        health = Health()
        for _ in range(1000):
            reason = "time" if rng.random() < 0.1 else "mate"
            result = GameResult(game_id="0", attempt=0, outcome="draw", reason=reason)
            verdicts += bool(health.take(f"host {rng.randrange(10)}", result))
    # each of some 100 faults a run is a test
    assert verdicts <= 60 * 100 * CHANCE * 3


# speed


def timed(player: str = "a") -> Cluster:
    return Cluster(calibrate=Calibration(player, 1_000_000.0))


def speed(*nps: float | None) -> Callable[[Job], JobResult]:
    values = iter(nps)
    return lambda job: CheckResult(check_id=job.id, code="a", nps=next(values))


CLOCK = Player(code="a", command=("a",), protocol="uci", time_control=TimeControl.parse("10+0.1"))
TIMED_GAME = GameJob(id="0_0", players=(CLOCK, CLOCK), settings=SETTINGS)


def test_time_controls_follow_the_median_speed_of_a_hosts_slots(link: FakeLink, make: Make) -> None:
    executor = make(timed(), players=[CLOCK])
    link.join("tcp://slow", 3)
    news(executor)
    assert all(isinstance(task.jobs[0].job, CheckJob) for task in link.tasks)
    measured = speed(400_000.0, 500_000.0, 900_000.0)
    executor.submit(TIMED_GAME)
    for _ in range(3):
        assert [len(task.ids) for task in link.tasks] == [1] * len(link.tasks)
        link.answer(result=measured)
        assert news(executor) == []
    assert told(executor)[-1] == (
        "host slow searches 500,000 nodes a second: time controls are x 2"
    )
    (played,) = link.tasks[0].jobs
    assert isinstance(played.job, GameJob)
    assert {str(player.time_control) for player in played.job.players} == {"20+0.2"}
    link.answer()
    (event,) = news(executor)
    assert isinstance(event, Done)
    assert event.job is TIMED_GAME
    assert isinstance(event.result, GameResult)
    assert event.result.host is not None
    assert (event.result.host.name, event.result.host.speed) == ("slow", 0.5)


def test_host_that_is_lost_while_it_is_measured_is_measured_again(
    link: FakeLink, make: Make
) -> None:
    executor = make(timed(), players=[CLOCK])
    link.join("tcp://one", 2)
    news(executor)
    for task in list(link.tasks):
        link.lose(task, is_cut=True)
    news(executor)
    link.post(Workers({"tcp://one": "id of one"}))
    news(executor)
    assert len(link.tasks) == 2
    link.leave("tcp://one")
    assert news(executor) == []
    link.tasks.clear()
    link.join("tcp://one", 1, id="another")
    news(executor)
    link.answer(result=speed(500_000.0))
    news(executor)
    assert executor.slots == 1
    assert "host one searches 500,000 nodes a second: time controls are x 2" in told(executor)


def test_host_without_a_speed_is_not_used(link: FakeLink, make: Make) -> None:
    executor = make(timed(), players=[CLOCK])
    link.join("tcp://one", 1)
    news(executor)
    link.answer(result=speed(None))
    with pytest.raises(ExecutorError, match="player 'a' has no speed: it reports no nodes"):
        news(executor)


class Clock:
    """Stands in for the monotonic clock."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(cluster_hosts, "time", clock)
    return clock


def playing(link: FakeLink, make: Make) -> DaskExecutor:
    """Return an executor whose host of two slots was measured and plays two games."""
    executor = make(timed(), players=[CLOCK])
    link.join("tcp://one", 2)
    news(executor)
    for _ in range(2):
        link.answer(result=speed(500_000.0))
    news(executor)
    for n in range(2):
        executor.submit(msgspec.structs.replace(TIMED_GAME, id=f"0_{n}"))
    news(executor)
    return executor


def play_one(
    link: FakeLink, executor: DaskExecutor, number: int, load: float = 1.0
) -> tuple[float | None, list[str]]:
    """End the oldest game and submit another; return the game's speed, and all tasks' jobs."""
    oldest = next(task for task in link.tasks if task.ids[0].startswith("0_"))
    link.answer(oldest, load=load, seconds=10.0)
    (event,) = news(executor)
    executor.submit(msgspec.structs.replace(TIMED_GAME, id=f"0_{number}"))
    news(executor)
    assert isinstance(event, Done)
    assert isinstance(event.result, GameResult)
    assert event.result.host is not None
    return event.result.host.speed, [task.ids[0] for task in link.tasks]


def test_host_in_play_is_measured_again_after_half_an_hour_between_games(
    link: FakeLink, make: Make, clock: Clock
) -> None:
    executor = playing(link, make)
    clock.now += RENEWAL - 1
    assert play_one(link, executor, 2) == (0.5, ["0_1", "0_2"])
    clock.now += 2
    # the measurements take the places of the next two games; no game is disturbed
    trials = [f"speed of a, {slot} of 2" for slot in (1, 2)]
    assert play_one(link, executor, 3) == (0.5, ["0_2", *trials])
    assert executor.room() == 0
    link.answer(link.tasks[1], result=speed(1_000_000.0))
    link.answer(link.tasks[1], result=speed(1_000_000.0))
    news(executor)
    (_, begun) = link.tasks
    (played,) = begun.jobs
    assert isinstance(played.job, GameJob)
    assert {str(player.time_control) for player in played.job.players} == {"10+0.1"}
    # a result has the speed that held when its game began
    assert play_one(link, executor, 4)[0] == 0.5
    assert play_one(link, executor, 5)[0] == 1.0


def test_host_is_measured_again_when_its_load_has_changed(
    link: FakeLink, make: Make, clock: Clock
) -> None:
    executor = playing(link, make)
    clock.now += SETTLING + 1
    for number, load in enumerate((1.0, 1.2, 0.8), start=2):
        assert len(play_one(link, executor, number, load)[1]) == 2
    assert len(play_one(link, executor, 5, 1.3)[1]) == 3
    # one measurement for a change
    assert play_one(link, executor, 6, 1.5)[1] == [f"speed of a, {slot} of 2" for slot in (1, 2)]


def test_host_without_a_new_speed_keeps_the_old_one(
    link: FakeLink, make: Make, clock: Clock
) -> None:
    executor = playing(link, make)
    clock.now += RENEWAL + 1
    play_one(link, executor, 2)
    link.answer(link.tasks[1], result=speed(None))
    link.answer(link.tasks[1], lost="the engine crashed")
    news(executor)
    play_one(link, executor, 3)
    assert play_one(link, executor, 4)[0] == 0.5


# sharing


def run_of(name: str, *, beat: int = 1, **facts: object) -> Presence:
    return Presence(**{"run": name, "name": name, "beat": beat, **facts})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("slots", "own", "others", "part"),
    [
        (4, {"share": 3.0}, [{"wants": 4}], 3),
        (4, {}, [{"wants": 4, "share": 3.0}], 1),
        # what one does not want, the others share
        (12, {"share": 3.0}, [{"wants": 1}], 11),
        (12, {"share": 2.0}, [{"wants": 1}, {"wants": 12, "share": 9.0}], 2),
        (12, {}, [{"wants": 0}, {"wants": 12}], 6),
        # none stays without a game
        (1, {}, [{"wants": 1}], 1),
        # a higher priority goes first
        (4, {"share": 9.0}, [{"wants": 4, "priority": 1}], 0),
        (4, {}, [{"wants": 3, "priority": 1}], 1),
        (4, {}, [{"wants": 9, "priority": -1}], 4),
    ],
)
def test_part_of_the_cluster_follows_shares_wants_and_priorities(
    slots: int, own: dict[str, object], others: list[dict[str, object]], part: int
) -> None:
    runs = [run_of(f"other {n}", **facts) for n, facts in enumerate(others)]
    neighbours = Neighbours(run_of("own", **own))
    neighbours.take({each.run: each for each in runs})
    assert neighbours.part(slots) == part


def test_run_plays_its_share_beside_another_one_and_all_games_without_it(
    link: FakeLink, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(sharing, "time", clock)
    executor = make(Cluster(share=3.0), name="tune")
    for name in ("one", "two"):
        link.join(f"tcp://{name}", 2)
    link.meet(run_of("other", wants=4, jobs={"tcp://one": 1}))
    for n in range(8):
        executor.submit(game(n))
    news(executor)
    assert executor.slots == 3
    # where the other has no game
    assert sorted(task.address for task in link.tasks) == ["tcp://one", "tcp://two", "tcp://two"]
    text = (
        "the cluster is shared with other (share 1, priority 0); this run has share 3, priority 0"
    )
    assert executor.sharing() == text
    assert text in told(executor)
    # this run could use all
    link.meet(run_of("other", wants=4, jobs={"tcp://one": 1}, beat=2))
    news(executor)
    assert link.presence.wants == 4
    assert link.presence.jobs == {"tcp://one": 1, "tcp://two": 2}
    clock.now += sharing.LAPSE
    # a run that died gives no further sign
    link.meet(run_of("other", wants=4, jobs={"tcp://one": 1}, beat=2))
    news(executor)
    assert executor.slots == len(link.tasks) == 4
    assert executor.sharing() == ""
    assert told(executor) == ["the cluster is this run's alone"]


def test_run_of_lower_priority_waits_without_a_game_until_places_are_left(
    link: FakeLink, make: Make
) -> None:
    executor = make(Cluster())
    link.join("tcp://one", 2)
    link.meet(run_of("other", wants=2, priority=1))
    executor.submit(game(0))
    news(executor)
    assert list(link.tasks) == []
    assert executor.room() == 0
    link.meet(run_of("other", wants=1, priority=1, beat=2))
    news(executor)
    assert [task.ids for task in link.tasks] == [["0_0"]]


# files


def test_positions_are_shipped_before_their_first_shard(
    link: FakeLink, make: Make, tmp_path: Path
) -> None:
    positions = tmp_path / "positions"
    positions.write_bytes(b"some")
    executor = with_one_host(link, make)
    job = EvaluationJob("e", PLAYER, SETTINGS, str(positions), 0, 1)
    executor.submit(job)
    # the host has not said that it has the file
    assert list(link.tasks) == []
    news(executor)
    assert link.tasks[0].ids == ["e"]
    (file,) = link.orders[-1].files
    assert (file.path, file.size) == (str(positions), 4)


def test_close_ends_the_run_on_all_hosts(link: FakeLink, make: Make) -> None:
    executor = make()
    executor.close()
    executor.close()
    assert link.is_closed
