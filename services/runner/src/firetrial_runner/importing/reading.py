"""A file of a run that was made elsewhere, read into steps and into what the run came to."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from firetrial_kit.errors import Fault, FiretrialError, Reason, check
from firetrial_runner.conclusion import MAX_BYTES
from firetrial_runner.importing import log
from firetrial_runner.importing.encoding import as_utf8, encoding_of
from firetrial_runner.importing.imported import Format, Imported
from firetrial_runner.run import Provenance, RunUsage
from firetrial_runner.streams import ClaudeCode, Codex, Ending, StreamReader, atif
from firetrial_runner.trajectory import Recorder, Sink, clean

_ALWAYS_LACKING = {"artifacts", "exit"}
# Steps that are recorded before others get a turn.
_AT_ONCE = 200


@dataclass(frozen=True, slots=True)
class Found:
    """What a file tells. `conclusion` is at most 1 MiB of UTF-8; `usage` is None where nothing is known."""

    provenance: Provenance
    conclusion: bytes
    why_none: str
    usage: RunUsage | None
    chunks: int
    lacking: tuple[str, ...]


async def read(path: Path, told: Imported, sink: Sink) -> Found:
    """Read a file as its format says. Raises INVALID with every fault, TOO_LARGE."""
    if told.format is Format.CONCLUSION:
        return await asyncio.to_thread(_conclusion, path, told)
    if told.format is Format.ATIF:
        return await _atif(path, told, sink)
    return await _stream(path, told, sink)


async def _stream(path: Path, told: Imported, sink: Sink) -> Found:
    pieces = as_utf8(path)
    head = await asyncio.to_thread(_head, pieces)
    header = log.header_of(head) if told.format is Format.FIREBENCH else None
    if header is not None:
        check("the log", log.disagreements(header, told))
    reader = _reader(told)
    recorder = Recorder(sink, reader=reader)
    if (encoding := await asyncio.to_thread(encoding_of, path)) != "utf-8":
        await recorder.event(f"the file is read as {encoding}", 0.0)
    piece: bytes | None = head[header.size :] if header else head
    while piece is not None:
        await recorder.output("stdout", piece, 0.0)
        piece = await asyncio.to_thread(next, pieces, None)
    await recorder.close()
    lacking = {"header"} if told.format is Format.FIREBENCH and header is None else set()
    return await _found(reader.ending(), told, recorder, lacking)


def _head(pieces: Iterator[bytes]) -> bytes:
    """The first pieces, as far as a header can go."""
    head = bytearray()
    for piece in pieces:
        head += piece
        if len(head) >= log.MAX_HEADER:
            break
    return bytes(head)


def _reader(told: Imported) -> StreamReader:
    if told.format is Format.CODEX:
        return Codex()
    return ClaudeCode() if told.format is Format.CLAUDE_CODE else log.reader_of(told.agent)


async def _atif(path: Path, told: Imported, sink: Sink) -> Found:
    text = await asyncio.to_thread(_text, path, atif.MAX_BYTES)
    trajectory = await asyncio.to_thread(atif.read, text)
    del text
    recorder = Recorder(sink)
    for number, step in enumerate(trajectory.steps()):
        await recorder.tell(step, 0.0)
        if number % _AT_ONCE == 0:
            await asyncio.sleep(0)
    return await _found(trajectory.ending, told, recorder, set())


async def _found(ending: Ending, told: Imported, recorder: Recorder, lacking: set[str]) -> Found:
    conclusion = clean(ending.conclusion)[0].encode()
    if len(conclusion) > MAX_BYTES:
        await recorder.event(f"{len(conclusion) - MAX_BYTES} bytes of the conclusion were cut off", 0.0)
        conclusion = conclusion[:MAX_BYTES].decode(errors="ignore").encode()
    await recorder.close()
    spent = ending.spent
    usage = RunUsage(
        wall_s=spent.wall_s,
        cpu_s=None,
        max_rss_bytes=None,
        output_bytes=0,
        steps=recorder.steps,
        cost_usd=spent.cost_usd,
        tokens=spent.total,
        cached_tokens=spent.cached,
        prompt_tokens=spent.prompt,
        completion_tokens=spent.completion,
    )
    lacking |= {
        name
        for name, known in {
            "times": ending.timed,
            "wall_time": spent.wall_s is not None,
            "usage": spent.total is not None,
            "cost": spent.cost_usd is not None,
            "model": bool(told.model or ending.model),
            "trajectory": recorder.steps > 0,
        }.items()
        if not known
    }
    return Found(
        Provenance.ELSEWHERE,
        conclusion,
        ending.why_none,
        usage if recorder.steps else None,
        recorder.chunks,
        tuple(sorted(lacking | _ALWAYS_LACKING)),
    )


def _conclusion(path: Path, told: Imported) -> Found:
    text, _ = clean(_text(path, MAX_BYTES).strip())
    lacking = {"cost", "times", "trajectory", "usage", "wall_time", *_ALWAYS_LACKING}
    lacking |= set() if told.model else {"model"}
    why_none = "" if text else "the conclusion is empty"
    return Found(Provenance.SELF_REPORTED, text.encode(), why_none, None, 0, tuple(sorted(lacking)))


def _text(path: Path, most: int) -> str:
    """A file's text. Raises TOO_LARGE."""
    size = path.stat().st_size
    if size > most:
        raise FiretrialError(
            Reason.TOO_LARGE,
            f"the file has {size} bytes, at most {most} are read of this format",
            faults=[Fault("file", f"{size} bytes", f"must be at most {most}")],
        )
    return b"".join(as_utf8(path)).decode("utf-8", "surrogateescape")
