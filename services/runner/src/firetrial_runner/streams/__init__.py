"""What agent programs write, read into normal steps: one reader for each format, and none guesses.

A reader is a `firetrial_runner.trajectory.Reader` that says at the end what the run came to.
"""

from firetrial_runner.streams.claude_code import ClaudeCode
from firetrial_runner.streams.codex import Codex
from firetrial_runner.streams.codex_log import CodexLog
from firetrial_runner.streams.ending import Ending, Spent, StreamReader
from firetrial_runner.streams.opencode import OpenCode
from firetrial_runner.streams.openhands import OpenHands
from firetrial_runner.streams.openhands_events import OpenHandsEvents
from firetrial_runner.streams.reference import Reference

__all__ = [
    "ClaudeCode",
    "Codex",
    "CodexLog",
    "Ending",
    "OpenCode",
    "OpenHands",
    "OpenHandsEvents",
    "Reference",
    "Spent",
    "StreamReader",
]
