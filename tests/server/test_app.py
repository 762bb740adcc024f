"""The routes of the live page, in process."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from ringmaster.errors import RingmasterError
from ringmaster.server.app import Hub, Site
from ringmaster.server.watched import Watched
from tests.recorded import recorded, ticket, won, write

TOKEN = "secret"


@pytest.fixture
def client(tmp_path: Path) -> Callable[..., TestClient]:
    def make(place: Path | None = None, **settings: Any) -> TestClient:
        site = Site(place or write(tmp_path), TOKEN, **settings)
        return TestClient(site.app(), base_url="http://127.0.0.1")

    return make


def test_page_needs_the_token(client: Callable[..., TestClient]) -> None:
    web = client()
    assert web.get(f"/{TOKEN}/event/").status_code == 200
    for path in ("/", "/event/", "/wrong/event/", f"/{TOKEN}x/event/", "/%C3%A4/"):
        answer = web.get(path)
        assert (answer.status_code, answer.text) == (404, "there is no such page\n"), path


def test_request_for_the_whole_server_finds_nothing(tmp_path: Path) -> None:
    sent: list[Any] = []

    async def request() -> None:
        scope = {
            "type": "http",
            "method": "OPTIONS",
            "path": "*",
            "headers": [(b"host", b"localhost")],
        }

        async def send(message: Any) -> None:
            sent.append(message)

        await Site(write(tmp_path), TOKEN).app()(scope, lambda: asyncio.sleep(0), send)

    asyncio.run(request())
    assert sent[0]["status"] == 404


def test_request_for_another_host_is_refused(client: Callable[..., TestClient]) -> None:
    answer = client().get(f"/{TOKEN}/event/", headers={"Host": "evil.example"})
    assert answer.status_code == 400
    assert "event" not in answer.text


def test_page_is_neither_cached_nor_framed_nor_named_to_others(
    client: Callable[..., TestClient],
) -> None:
    headers = client().get(f"/{TOKEN}/event/").headers
    assert headers["cache-control"] == "no-store"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-content-type-options"] == "nosniff"
    assert "server" not in headers


def test_one_competition_is_found_without_its_name(client: Callable[..., TestClient]) -> None:
    answer = client().get(f"/{TOKEN}/", follow_redirects=False)
    assert answer.headers["location"] == "./event/"


def test_folder_has_an_index_of_its_competitions(
    client: Callable[..., TestClient], tmp_path: Path
) -> None:
    control = write(tmp_path)
    recorded(control, [(ticket(number=0), won("0_0"))])
    (tmp_path / "broken.ctl").write_text("competition_type = 'chess'\n")
    (tmp_path / "notes.txt").write_text("no control file")
    text = client(tmp_path).get(f"/{TOKEN}/").text
    assert '<a href="event/">event</a>' in text
    assert "playoff" in text
    assert "broken" in text
    assert "competition_type" in text
    assert "notes" not in text


def test_index_of_the_working_folder_has_its_name(
    client: Callable[..., TestClient], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "tunes"
    folder.mkdir()
    monkeypatch.chdir(folder)
    assert "<h1>tunes</h1>" in client(Path()).get(f"/{TOKEN}/").text


def test_buttons_stand_above_the_games_in_progress(client: Callable[..., TestClient]) -> None:
    text = client(control=lambda path, command: None).get(f"/{TOKEN}/event/").text
    assert (
        text.index('id="control"') < text.index('id="live-state"') < text.index('id="in-progress"')
    )


def test_name_cannot_leave_the_folder(client: Callable[..., TestClient], tmp_path: Path) -> None:
    folder = tmp_path / "inside"
    folder.mkdir()
    write(folder)
    write(tmp_path)
    web = client(folder)
    for name in ("..%2Fevent", "%2E%2E%2Fevent", "..", "event.ctl"):
        assert web.get(f"/{TOKEN}/{name}/").status_code == 404, name


def test_control_file_that_fails_is_told(client: Callable[..., TestClient], tmp_path: Path) -> None:
    control = write(tmp_path, "competition_type = 'playoff'\nthis is wrong\n")
    answer = client(control).get(f"/{TOKEN}/event/")
    assert answer.status_code == 500
    assert "event.ctl:2" in answer.text


def test_recorded_game_is_given_for_a_board(
    client: Callable[..., TestClient], tmp_path: Path
) -> None:
    control = write(tmp_path)
    recorded(control, [(ticket(number=0), won("0_0"))])
    games = tmp_path / "event.games"
    games.mkdir()
    (games / "0_0.pgn").write_text('[White "a"]\n\n1. e4 {+0.31/12 0.520s} e5 {mate} 1-0\n')
    web = client(control)
    game = json.loads(web.get(f"/{TOKEN}/event/games/1").text)
    assert game["moves"] == "e4 e5"
    assert game["scores"] == [31, None]
    for number in (0, 2, 10**30):
        assert web.get(f"/{TOKEN}/event/games/{number}").status_code == 404, number


def test_page_cannot_command_a_run_without_leave(client: Callable[..., TestClient]) -> None:
    web = client()
    assert web.post(f"/{TOKEN}/event/control", content="stop").status_code == 404
    assert "data-command" not in web.get(f"/{TOKEN}/event/").text


def test_command_reaches_the_run_only_from_its_own_page(
    client: Callable[..., TestClient], tmp_path: Path
) -> None:
    commands = []

    def control(path: Path, command: str) -> None:
        if command == "burn":
            raise RingmasterError("no")
        commands.append((path.name, command))

    web = client(control=control)
    assert "data-command" in web.get(f"/{TOKEN}/event/").text
    place = f"/{TOKEN}/event/control"
    assert web.post(place, content="stop").status_code == 403
    assert web.post(place, content="stop", headers={"X-Ringmaster": "1"}).text == "done\n"
    answer = web.post(place, content="burn", headers={"X-Ringmaster": "1"})
    assert (answer.status_code, answer.text) == (409, "no\n")
    assert commands == [("event.ctl", "stop")]
    sent = 0

    def endless() -> Iterator[bytes]:
        nonlocal sent
        while sent < 1 << 26:
            sent += 1 << 12
            yield b"x" * (1 << 12)

    assert web.post(place, content=b"x" * (1 << 16), headers={"X-Ringmaster": "1"}).text == "done\n"
    answer = web.post(place, content=endless(), headers={"X-Ringmaster": "1"})
    assert (answer.status_code, answer.text) == (413, "the command is too long\n")
    assert len(commands) == 2


class Counted(Watched):
    """A competition with another number of facts at each look, up to 3."""

    number = 0

    def stamp(self) -> tuple[object, ...]:
        self.number = min(self.number + 1, 3)
        return (self.number,)

    def parts(self) -> dict[str, Any]:
        return {"facts": self.number, "verdict": "v"}


def test_slow_reader_gets_the_latest_parts_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ringmaster.server.app.PERIOD", 0)
    watched = Counted(write(tmp_path))

    async def read() -> list[Any]:
        hub = Hub(watched)
        events = hub.events()
        first = await anext(events)
        while watched.number < 3:
            await asyncio.sleep(0.001)
        await hub.last_look()
        return [json.loads(event["data"]) for event in (first, *[event async for event in events])]

    first, *others = asyncio.run(read())
    assert first == {"facts": 1, "verdict": "v", "live": []}
    assert others == [{"facts": 3}]


def test_reader_that_leaves_keeps_the_lock_until_its_work_has_ended(tmp_path: Path) -> None:
    async def leave() -> list[str]:
        hub = Hub(Watched(write(tmp_path)))
        began, may_end = threading.Event(), threading.Event()
        order = []

        def slow() -> None:
            began.set()
            may_end.wait()
            order.append("slow")

        reader = asyncio.create_task(hub.call(slow))
        await asyncio.to_thread(began.wait)
        reader.cancel()
        other = asyncio.create_task(hub.call(lambda: order.append("other")))
        await asyncio.wait([reader])
        may_end.set()
        await other
        return order

    assert asyncio.run(leave()) == ["slow", "other"]


def test_readers_have_the_last_results_before_the_events_end(tmp_path: Path) -> None:
    control = write(tmp_path)
    recorded(control, [(ticket(number=0), won("0_0"))])

    async def watch() -> list[Any]:
        hub = Hub(Watched(control))
        events = hub.events()
        first = await anext(events)
        # at once: no other page is due
        recorded(control, [(ticket(number=1), won("0_1"))])
        await hub.last_look()
        return [json.loads(event["data"]) for event in (first, *[event async for event in events])]

    first, *_, last = asyncio.run(watch())
    assert first["games_total"] == 1
    assert last["games_total"] == 2
    assert "charts" in last


def test_second_reader_has_all_parts_after_the_first_has_left(tmp_path: Path) -> None:
    async def watch() -> list[Any]:
        hub = Hub(Watched(write(tmp_path)))
        seen = []
        for _ in range(2):
            events = hub.events()
            seen.append(json.loads((await anext(events))["data"]))
            await events.aclose()
        return seen

    first, second = asyncio.run(watch())
    assert first == second
