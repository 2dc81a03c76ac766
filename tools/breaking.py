"""Whether contracts and events still hold for those who use the released ones (proto/released.binpb).

    python tools/breaking.py              exits 1 naming each thing that breaks them
    python tools/breaking.py --release    releases the contracts as they are, where nothing breaks

`buf breaking` holds messages, enums, services and the names of headers by the rules of proto/buf.yaml. What
it does not look into is held here: where each event travels, as which type, about what, and who sends it.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import contracts
from contracts import PROTO, Event


def contract_faults(proto: Path, released: Path) -> list[str]:
    """What `buf breaking` says, one line each: file:line:column:what."""
    buf = str(Path(sys.executable).with_name("buf"))
    argv = [buf, "breaking", str(proto), "--against", str(released)]
    said = subprocess.run(argv, capture_output=True, text=True, check=False)
    if said.returncode and not said.stdout:
        sys.exit(said.stderr)
    return said.stdout.splitlines()


def event_faults(released: Iterable[Event], current: Iterable[Event]) -> Iterator[str]:
    """Events that those who follow the released ones would miss, misread, or send in vain."""
    there = {event.address: event for event in current}
    for event in released:
        now = there.get(event.address)
        if now is None:
            near = [other.address for other in there.values() if other.type == event.type]
            cure = f"; {event.type} now travels on {', '.join(near)}" if near else ""
            yield f"event {event.name}: nothing is told on {event.address} any more{cure}"
            continue
        if now.type != event.type:
            yield f"event {event.name}: its ce-type was {event.type} and is {now.type}"
        if gone := sorted({*event.services} - {*now.services}):
            yield f"event {event.name}: {', '.join(gone)} can no longer send it"


def faults(proto: Path, released: Path) -> list[str]:
    """All that breaks."""
    before = contracts.declared(contracts.documented(released.read_bytes()))
    now = contracts.declared(contracts.documented(contracts.image(proto)))
    return [*contract_faults(proto, released), *event_faults(before, now)]


def main(proto: Path, *, release: bool) -> None:
    """Exits 1 where something breaks."""
    released = proto / contracts.RELEASED.name
    found = faults(proto, released) if released.exists() else []
    if found:
        sys.exit(
            "\n".join([*found, "these break who uses the released contracts: see docs/compatibility.md"])
        )
    if release:
        released.write_bytes(contracts.image(proto, comments=False))


if __name__ == "__main__":
    main(PROTO, release="--release" in sys.argv[1:])
