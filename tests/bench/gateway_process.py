"""The two servers of the gateway's bench, each in a process of its own.

    python gateway_process.py upstream            answers every request with one completion
    python gateway_process.py gateway URL         a run's door to it

The first line of standard output is the address, the second the token.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support import scripted_models as scripted
from support.gateways import gateway, upstream

_BODY = scripted.text("An answer of some length. " * 40).body
_ANSWER = (
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(_BODY) + _BODY
)


class Upstream(asyncio.Protocol):
    """As fast as a server in Python can be: what is measured is the gateway."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._buffer = b""

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while b"\r\n\r\n" in self._buffer:
            head, _, rest = self._buffer.partition(b"\r\n\r\n")
            _, _, told = head.lower().partition(b"content-length:")
            size = int(told.split(b"\r\n")[0])
            if len(rest) < size:
                return
            self._buffer = rest[size:]
            assert isinstance(self._transport, asyncio.Transport)
            self._transport.write(_ANSWER)


async def serve_upstream() -> None:
    server = await asyncio.get_running_loop().create_server(Upstream, "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await server.serve_forever()


async def serve_gateway(url: str) -> None:
    async with gateway(upstream(url)) as rig:
        print(rig.url + "/v1", rig.door.session.token, sep="\n", flush=True)
        while True:
            await asyncio.sleep(1)
            rig.steps.clear()


if __name__ == "__main__":
    what, *rest = sys.argv[1:]
    asyncio.run(serve_upstream() if what == "upstream" else serve_gateway(*rest))
