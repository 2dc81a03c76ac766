"""Small scripted agents for end-to-end tests: each is one shell line."""

from __future__ import annotations

from firetrial_client import AsyncFiretrial

SORTING = {
    "right": (
        "Insertion sort is faster than merge sort on arrays below 32 elements. "
        "Merge sort is faster than insertion sort on arrays above 128 elements."
    ),
    "wrong": "Merge sort is slower than insertion sort on arrays above 128 elements.",
}

_LINES = {
    **{
        name: f"echo planning; sleep 0.3; printf '%s' '{text}' > conclusion.md"
        for name, text in SORTING.items()
    },
    "silent": "echo planning; echo done",
    "sleepy": "echo planning; sleep 300",
}


async def register(client: AsyncFiretrial, name: str) -> str:
    """Register one of the agents above; gives its id."""
    agent = await client.submit_agent(name=f"e2e-{name}", command=["sh", "-c", _LINES[name]])
    return str(agent.id)
