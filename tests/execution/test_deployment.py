"""Hosts that a run starts: again when they end, and not beyond the run."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from ringmaster.errors import UsageError
from ringmaster.execution import affinity
from tests.processes import LONG
from tests.requirements import package

package("distributed")

from ringmaster.execution.dask_link import Keeper, News, Upkeep  # noqa: E402
from ringmaster.execution.deployment import (  # noqa: E402
    process_keeper,
    slurm_keeper,
    slurm_script,
)
from ringmaster.execution.host_process import HostOrders  # noqa: E402

pytestmark = [pytest.mark.optional, pytest.mark.process]

ORDERS = HostOrders("tls://127.0.0.1:1", certificate="cert", key="key")


def kept(keeper: Keeper, enough: Callable[[list[Upkeep]], bool]) -> list[Upkeep]:
    """Run a keeper until its news are enough, and then to its end; return them."""
    news: list[Upkeep] = []

    async def run() -> None:
        done = asyncio.Event()

        def post(item: News) -> None:
            assert isinstance(item, Upkeep)
            news.append(item)
            if enough(news):
                done.set()

        task = asyncio.ensure_future(keeper(post))
        await asyncio.wait_for(done.wait(), LONG)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(run())
    return news


def script(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_host_that_ends_is_started_again_and_its_last_words_are_reported(tmp_path: Path) -> None:
    program = script(tmp_path, "host", "read orders; echo noise >&2; echo gone $1 >&2; exit 1")
    numbers = iter(range(100))

    def start() -> tuple[Sequence[str], HostOrders]:
        return [program, str(next(numbers) // 2)], ORDERS

    news = kept(process_keeper("one", start, retry=0), lambda news: len(news) == 2)
    # the same words are not repeated
    assert [item.text for item in news[:2]] == [
        f"host one is down: gone {n}; trying again each minute" for n in (0, 1)
    ]


def test_program_that_is_missing_is_named() -> None:
    keeper = process_keeper("one", lambda: (["/no/ssh"], ORDERS), retry=0)
    (item,) = kept(keeper, bool)
    assert item.text.startswith("host one is down: /no/ssh: No such file or directory; ")


def test_host_gets_its_orders_on_standard_input_and_ends_with_the_run(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "begun")
    program = script(
        tmp_path,
        "host",
        f"trap 'echo over > {tmp_path}/end; exit' TERM\nread orders\n"
        f'echo "$orders" > {tmp_path}/begun\nwhile :; do sleep 0.01; done',
    )
    keeper = process_keeper("one", lambda: ([program], ORDERS))

    async def run() -> str:
        task = asyncio.ensure_future(keeper(lambda news: None))
        line = await asyncio.to_thread((tmp_path / "begun").read_text)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return line

    assert '"certificate":"cert","key":"key"' in asyncio.run(run())
    assert (tmp_path / "end").read_text() == "over\n"


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a Slurm: `queue` is what squeue prints."""
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    script(
        tmp_path,
        "sbatch",
        f"cat > {tmp_path}/script; echo >> {tmp_path}/submitted\n"
        f"n=$(wc -l < {tmp_path}/submitted); echo $((100 + n))",
    )
    script(tmp_path, "squeue", f"cat {tmp_path}/queue")
    script(tmp_path, "scancel", f"echo $* > {tmp_path}/cancelled")
    return tmp_path


def texts(news: Sequence[Upkeep]) -> list[str]:
    return [item.text for item in news if item.text]


def test_job_that_ended_is_submitted_again_and_named(slurm: Path) -> None:
    (slurm / "queue").write_text("102 R\n7 R\n")
    news = kept(slurm_keeper("script", 2, retry=0), lambda news: len(texts(news)) == 4)
    assert texts(news)[:4] == [
        "Slurm job 101 is submitted",
        "Slurm job 102 is submitted",
        "Slurm job 101 has ended; another is submitted (see slurm-101.out)",
        "Slurm job 103 is submitted",
    ]
    assert [item.is_warning for item in news if item.text][:4] == [
        False,
        False,
        True,
        False,
    ]
    # all jobs of the run, and no other
    assert "102" in (slurm / "cancelled").read_text().split()
    assert not {"101", "7"} & set((slurm / "cancelled").read_text().split())


def test_jobs_in_the_queue_are_counted(slurm: Path) -> None:
    (slurm / "queue").write_text("101 PD\n102 R\n103 PD\n")
    news = kept(slurm_keeper("script", 3, retry=0), lambda news: len(news) == 5)
    assert [item.queued for item in news[:5]] == [0, 1, 2, 3, 2]


def test_slurm_that_refuses_jobs_or_does_not_answer_is_asked_again(slurm: Path) -> None:
    script(slurm, "squeue", "echo slurm_load_jobs error >&2; exit 1")
    assert texts(kept(slurm_keeper("script", 1, retry=0), bool)) == ["Slurm job 101 is submitted"]
    script(slurm, "sbatch", "echo sbatch: error: invalid partition >&2; exit 1")
    assert texts(kept(slurm_keeper("script", 1, retry=0), bool)) == [
        "sbatch: error: invalid partition; trying again each minute"
    ]


def test_script_of_a_job_has_its_orders_and_no_file() -> None:
    options = {
        "cores": 4,
        "queue": "short",
        "walltime": "1:00",
        "directives": ["--exclusive"],
        "prologue": ["module load gcc"],
    }
    orders = HostOrders("tls://node:1", memory=2 << 30, key="k\n'E'")
    text = slurm_script(options, "/my python", orders)
    assert text.splitlines() == [
        "#!/bin/sh",
        "#SBATCH -J ringmaster",
        "#SBATCH -p short",
        "#SBATCH -n 1",
        "#SBATCH --cpus-per-task=4",
        "#SBATCH --mem=2048M",
        "#SBATCH -t 1:00",
        "#SBATCH --exclusive",
        'export SLURM_JOB_END_TIME=$(date -d "$(squeue -h -j $SLURM_JOB_ID -o %e)" +%s)',
        "module load gcc",
        "exec '/my python' -Pm ringmaster.execution.host_process <<'END'",
        text.splitlines()[-2],
        "END",
    ]
    assert '"key":"k\\n\'E\'"' in text


def test_hosts_of_a_machine_claim_different_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    pinned: list[list[int]] = []
    monkeypatch.setattr(affinity, "_chosen", lambda cpus: [5000, 5001, 5002])
    monkeypatch.setattr(affinity, "pin", pinned.append)
    claims = affinity.claim(2) + affinity.claim(2)
    assert pinned == [[5000, 5001], [5002]]
    with pytest.raises(UsageError, match="other hosts have claimed all CPUs"):
        affinity.claim(1)
    for claim in claims:
        claim.close()


def test_host_of_a_run_ends_when_the_scheduler_stays_away() -> None:
    orders = HostOrders("tcp://127.0.0.1:1", patience=1e-9)
    program = f"""
import asyncio
from ringmaster.execution import host_process
host_process.CONNECT = host_process.RETRY = 0.01
asyncio.run(host_process.serve(host_process.{orders!r}, print))
"""
    command = [sys.executable, "-c", program]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout.startswith("cannot join tcp://127.0.0.1:1: ")
    assert run.stdout.count("\n") == 1
