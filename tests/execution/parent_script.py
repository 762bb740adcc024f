"""A ringmaster to be killed: one job on each of two workers.

argv: work, orphan grace, then for each worker the JSON of its ticket.  Has no
`if __name__ == "__main__"`, and prints a line each time that it is run.
"""

import json
import sys

from ringmaster.engines import reaper
from ringmaster.execution import processes
from ringmaster.execution.local import LocalExecutor
from tests.execution.scripted_work import game

print("run", flush=True)
processes.ORPHAN_GRACE = float(sys.argv[2])
executor = LocalExecutor(
    sys.argv[1],
    len(sys.argv) - 3,
    reaper=reaper.__file__,
)
for number, ticket in enumerate(sys.argv[3:]):
    executor.submit(game(number, **json.loads(ticket)))
while executor.running():
    for event in executor.wait(None):
        print(event, flush=True)
executor.close()
print("closed", flush=True)
