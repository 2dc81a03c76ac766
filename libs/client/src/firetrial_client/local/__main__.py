"""The supervisor as a process of its own: what a detached `up` starts."""

from __future__ import annotations

import json
import sys
import time

from firetrial_client.local.processes import StartError
from firetrial_client.local.supervisor import Options, Supervisor


def _main() -> int:
    def say(line: str) -> None:
        sys.stderr.write(f"{time.strftime('%Y-%m-%dT%H:%M:%S%z')} {line}\n")
        sys.stderr.flush()

    try:
        return Supervisor(Options(**json.loads(sys.argv[1])), say).run()
    except StartError as error:
        say(str(error))
        return 1


if __name__ == "__main__":
    sys.exit(_main())
