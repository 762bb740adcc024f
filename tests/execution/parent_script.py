"""A ringmaster to be killed: one job on each of two workers.

argv: work, orphan grace, then for each worker the JSON of its ticket.  The environment
may have PROCESSES, how many processes the workers have.  Has no
`if __name__ == "__main__"`, and prints a line each time that it is run.
"""

import json
import os
import sys

from ringmaster.engines import watcher
from ringmaster.execution import processes
from ringmaster.execution.local import LocalExecutor
from tests.execution.scripted_work import game

print("run", flush=True)
processes.ORPHAN_GRACE = float(sys.argv[2])
executor = LocalExecutor(
    sys.argv[1],
    len(sys.argv) - 3,
    watcher=watcher.__file__,
    processes=int(os.environ.get("PROCESSES", "0")) or None,
)
for number, ticket in enumerate(sys.argv[3:]):
    executor.submit(game(number, **json.loads(ticket)))
while executor.running():
    for event in executor.wait(None):
        print(event, flush=True)
executor.close()
print("closed", flush=True)
