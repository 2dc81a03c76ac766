"""What an agent writes, as it comes, on its way to the recorder."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from firetrial_kit.clock import Clock
from firetrial_runner.gateway import masking
from firetrial_runner.gateway.masking import Masker
from firetrial_runner.sandbox.port import Chunk, Process, Stream
from firetrial_runner.trajectory import Recorder

_TICK_S = 1.0


class Watch:
    """Seconds since the run began: the start of its process, and until that its own."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.begin()

    def begin(self) -> None:
        self._begun = self._clock.monotonic()

    def offset(self) -> float:
        return self._clock.monotonic() - self._begun


class Tape:
    """What an agent writes, on its way to the recorder: a key in it would be masked."""

    def __init__(self, recorder: Recorder, masker: Masker) -> None:
        self._recorder = recorder
        self._streams = {stream: masking.Stream(masker) for stream in Stream}

    async def take(self, chunk: Chunk) -> None:
        masked = self._streams[chunk.stream].feed(chunk.data)
        await self._recorder.output(chunk.stream, masked, chunk.offset_s)

    async def tick(self, offset_s: float) -> None:
        await self._recorder.tick(offset_s)

    async def end(self, offset_s: float) -> None:
        for stream, masked in self._streams.items():
            if held := masked.end():
                await self._recorder.output(stream, held, offset_s)


async def follow(process: Process, tape: Tape, offset: Callable[[], float]) -> None:
    """Record the output to its end, and seal what has waited while there is none."""
    output = aiter(process.output())
    coming = asyncio.ensure_future(anext(output, None))
    try:
        while True:
            await asyncio.wait([coming], timeout=_TICK_S)
            if not coming.done():
                await tape.tick(offset())
                continue
            chunk = coming.result()
            if chunk is None:
                await tape.end(offset())
                return
            await tape.take(chunk)
            coming = asyncio.ensure_future(anext(output, None))
    finally:
        coming.cancel()
