"""Tasks that wait: each as if it were alone, in the time of a clock that is not real."""

from __future__ import annotations

import os
import select
from collections.abc import Callable, Iterator

import pytest

from ringmaster import waiting

pytestmark = pytest.mark.skipif(not hasattr(select, "epoll"), reason="needs epoll (Linux)")
if hasattr(select, "epoll"):
    from ringmaster.waiting.hub import LONGEST_BLIND, Hub, Mailbox

MS = 1_000_000


class World:
    """A clock and an epoll: `arrivals` are (ns, descriptor), each there from its time on
    until `take` is called."""

    def __init__(self, *arrivals: tuple[int, int]) -> None:
        self.now = 1000 * MS
        self.arrivals = [(self.now + at, fd) for at, fd in arrivals]
        self.registered: set[int] = set()
        self.calls = 0

    def clock(self) -> int:
        return self.now

    def register(self, fd: int, eventmask: int) -> None:
        assert fd not in self.registered
        self.registered.add(fd)
        self.calls += 1

    def unregister(self, fd: int) -> None:
        self.registered.remove(fd)
        self.calls += 1

    def _ready(self) -> list[tuple[int, int]]:
        return [
            (fd, select.POLLIN)
            for at, fd in self.arrivals
            if at <= self.now and fd in self.registered
        ]

    def poll(self, timeout: float | None = None) -> list[tuple[int, int]]:
        if not self._ready() and timeout != 0:
            coming = [at for at, fd in self.arrivals if at > self.now and fd in self.registered]
            ends = coming if timeout is None else [*coming, self.now + round(timeout * 1e9)]
            assert ends, "it would wait for ever"
            self.now = min(ends)
        return self._ready()

    def take(self, fd: int) -> None:
        at = min(at for at, each in self.arrivals if each == fd)
        self.arrivals.remove((at, fd))

    def close(self) -> None:
        pass


def run(world: World, *tasks: Callable[[Hub], object]) -> None:
    hub = Hub(world.clock, world)
    for task in tasks:
        hub.spawn(lambda task=task: task(hub))  # type: ignore[misc]
    hub.run()


def listening(hub: Hub, *fds: int) -> waiting.Poll:
    poll = hub.new_poll()
    for fd in fds:
        poll.register(fd, select.POLLIN)
    return poll


def test_tasks_wait_at_the_same_time() -> None:
    world = World((5 * MS, 1), (3 * MS, 2))
    order = []

    def wait_for(fd: int) -> Callable[[Hub], None]:
        def task(hub: Hub) -> None:
            order.append((fd, listening(hub, fd).poll(100), world.now - 1000 * MS))

        return task

    run(world, wait_for(1), wait_for(2), wait_for(3))
    at = [(2, [(2, select.POLLIN)], 3 * MS), (1, [(1, select.POLLIN)], 5 * MS), (3, [], 100 * MS)]
    assert order == at


def test_a_wait_of_no_time_only_looks() -> None:
    world = World((0, 1), (1, 2))
    found = []

    def task(hub: Hub) -> None:
        found.append(listening(hub, 1).poll(0))
        found.append(listening(hub, 2).poll(0))

    run(world, task)
    assert found == [[(1, select.POLLIN)], []]
    assert world.now == 1000 * MS


def test_what_is_ready_is_told_in_the_order_of_registration() -> None:
    world = World((0, 1), (0, 2), (0, 3))
    found = []
    run(world, lambda hub: found.append(listening(hub, 3, 1, 2).poll()))
    assert [fd for fd, _ in found[0]] == [3, 1, 2]


def test_a_descriptor_is_watched_no_longer_than_it_is_waited_for_and_again_later() -> None:
    # the engine chatters while its opponent is waited for
    world = World((1 * MS, 1), (5 * MS, 2))
    found = []

    def task(hub: Hub) -> None:
        one, other = listening(hub, 1), listening(hub, 2)
        found.append(one.poll(0))
        found.append(other.poll())
        assert world.registered == {2}
        found.append(one.poll())

    run(world, task)
    assert found == [[], [(2, select.POLLIN)], [(1, select.POLLIN)]]


def test_a_wait_for_what_is_watched_already_costs_no_system_call() -> None:
    world = World(*((n * MS, 1) for n in range(50)))

    def task(hub: Hub) -> None:
        poll = listening(hub, 1)
        for _ in range(50):
            poll.poll()
            world.take(1)

    run(world, task)
    assert world.calls == 1


def test_what_is_not_registered_any_more_is_not_told() -> None:
    world = World((1 * MS, 1), (2 * MS, 2))
    found = []

    def task(hub: Hub) -> None:
        poll = listening(hub, 1, 2)
        found.append(poll.poll(0))
        poll.unregister(1)
        with pytest.raises(KeyError):
            poll.unregister(1)
        found.append(poll.poll())

    run(world, task)
    assert found == [[], [(2, select.POLLIN)]]


def test_an_engine_is_not_charged_for_the_moves_of_other_games() -> None:
    # both answer at once; the other game's task takes its time first
    world = World((1 * MS, 1), (1 * MS, 2))
    seen = []

    def slow(hub: Hub) -> None:
        listening(hub, 1).poll()
        world.now += 30 * MS

    def quick(hub: Hub) -> None:
        poll = listening(hub, 2)
        poll.poll()
        assert world.now == 1031 * MS
        seen.append(waiting.seen_by(poll, world.clock)() - 1000 * MS)

    run(world, slow, quick)
    assert seen == [1 * MS]


def test_an_engine_that_answers_while_nobody_looks_is_not_charged_for_that() -> None:
    world = World((1 * MS, 1), (20 * MS, 2))
    seen = []

    def slow(hub: Hub) -> None:
        listening(hub, 1).poll()
        world.now += 30 * MS

    def quick(hub: Hub) -> None:
        poll = listening(hub, 2)
        poll.poll()
        seen.append(waiting.seen_by(poll, world.clock)() - 1000 * MS)

    run(world, slow, quick)
    # nobody knows when it came; it was not there at 1 ms
    assert seen == [1 * MS]


def test_no_engine_answers_before_it_was_waited_for() -> None:
    world = World((0, 1), (0, 2))
    seen = []

    def task(hub: Hub) -> None:
        world.now += 7 * MS
        poll = listening(hub, 2)
        poll.poll()
        seen.append(waiting.seen_by(poll, world.clock)() - 1000 * MS)

    run(world, task)
    assert seen == [7 * MS]


def test_an_engine_that_is_waited_for_alone_is_charged_to_the_moment() -> None:
    world = World((9 * MS, 1))
    seen = []

    def task(hub: Hub) -> None:
        poll = listening(hub, 1)
        poll.poll()
        seen.append(waiting.seen_by(poll, world.clock)() - 1000 * MS)

    run(world, task)
    assert seen == [9 * MS]


def test_somebody_looks_again_before_many_others_have_had_their_turn() -> None:
    world = World(*((1 * MS, fd) for fd in range(40)), (1 * MS + 150_000, 99))
    seen = []

    def short(fd: int) -> Callable[[Hub], None]:
        def task(hub: Hub) -> None:
            listening(hub, fd).poll()
            world.take(fd)
            world.now += 20_000

        return task

    def last(hub: Hub) -> None:
        poll = listening(hub, 99)
        poll.poll()
        seen.append(waiting.seen_by(poll, world.clock)() - 1001 * MS)

    run(world, *(short(fd) for fd in range(40)), last)
    assert 150_000 - LONGEST_BLIND - 20_000 <= seen[0] <= 150_000


def test_an_answer_that_is_there_in_time_is_found_however_late_one_looks() -> None:
    world = World((1 * MS, 1), (20 * MS, 2))
    found = []

    def slow(hub: Hub) -> None:
        listening(hub, 1).poll()
        world.now += 500 * MS

    run(world, slow, lambda hub: found.append(listening(hub, 2).poll(50)))
    assert found == [[(2, select.POLLIN)]]


def test_the_end_is_heard_by_all_that_listen_for_it_and_by_nobody_else() -> None:
    world = World((1 * MS, 9), (5 * MS, 3))
    heard = []

    def listener(hub: Hub) -> None:
        listening(hub, 9).poll()
        hub.end_of(9)

    def engine(name: str, *fds: int) -> Callable[[Hub], None]:
        def task(hub: Hub) -> None:
            poll = listening(hub, *fds)
            heard.append((name, [fd for fd, _ in poll.poll()], world.now - 1000 * MS))
            heard.append((name, [fd for fd, _ in poll.poll()], world.now - 1000 * MS))

        return task

    run(world, listener, engine("a", 9, 1), engine("b", 2, 9), engine("c", 3))
    at = 1 * MS
    assert (
        heard
        == [("a", [9], at), ("a", [9], at), ("b", [9], at), ("b", [9], at)]
        + [("c", [3], 5 * MS)] * 2
    )


def test_things_come_out_of_a_mailbox_in_order_whenever_they_were_put_in() -> None:
    world = World()
    taken: list[int] = []

    def task(hub: Hub) -> None:
        box: Mailbox[int] = Mailbox(hub)
        box.put(0)

        def take() -> None:
            while len(taken) < 5:
                taken.append(box.take())

        hub.spawn(take)
        for n in range(1, 5):
            hub.new_poll().poll(n % 2)
            box.put(n)

    run(world, task)
    assert taken == list(range(5))


def test_a_task_that_raises_ends_the_run() -> None:
    def task(hub: Hub) -> None:
        hub.new_poll().poll(1)
        raise LookupError("no board")

    with pytest.raises(LookupError, match="no board"):
        run(World(), task)


@pytest.fixture
def pipes() -> Iterator[list[tuple[int, int]]]:
    made = [os.pipe() for _ in range(2)]
    yield made
    for pair in made:
        for fd in pair:
            os.close(fd)


def test_a_descriptor_that_was_forgotten_may_come_again_as_another(
    pipes: list[tuple[int, int]],
) -> None:
    (read, _), (other_read, other_write) = pipes
    heard = []

    def task(hub: Hub) -> None:
        poll = waiting.new_poll()
        poll.register(read, select.POLLIN)
        assert poll.poll(0) == []
        waiting.forget(read)
        os.dup2(other_read, read)
        os.write(other_write, b"x")
        heard.append(poll.poll(1000))
        heard.append(os.read(read, 10))

    hub = Hub()
    hub.spawn(lambda: task(hub))
    with waiting.by(hub):
        hub.run()
    assert heard == [[(read, select.POLLIN)], b"x"]


def test_tasks_talk_over_real_pipes(pipes: list[tuple[int, int]]) -> None:
    heard = []

    def say(fd: int, text: bytes) -> None:
        os.write(fd, text)

    def turn(own: int, other: int) -> None:
        poll = waiting.new_poll()
        poll.register(own, select.POLLIN)
        for _ in range(200):
            assert poll.poll(10_000) == [(own, select.POLLIN)]
            heard.append(os.read(own, 100))
            say(other, heard[-1])

    (one, to_one), (two, to_two) = pipes
    hub = Hub()
    hub.spawn(lambda: turn(one, to_two))
    hub.spawn(lambda: turn(two, to_one))
    os.write(to_one, b"x")
    with waiting.by(hub):
        hub.run()
    assert heard == [b"x"] * 400


def test_without_a_hub_the_system_waits(pipes: list[tuple[int, int]]) -> None:
    poll = waiting.new_poll()
    assert type(poll) is type(select.poll())
    assert waiting.seen_by(poll, lambda: 5)() == 5
    waiting.forget(pipes[0][0])
