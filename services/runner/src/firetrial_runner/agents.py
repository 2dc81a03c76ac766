"""Agents as they are handed in."""

from __future__ import annotations

from dataclasses import dataclass

from firetrial_kit.clock import Clock
from firetrial_kit.objects import Objects
from firetrial_kit.records import Records
from firetrial_runner import keys
from firetrial_runner.agent import Agent, AgentDefinition


@dataclass(frozen=True, slots=True)
class Agents:
    records: Records[Agent]
    objects: Objects
    clock: Clock

    async def submit(self, definition: AgentDefinition) -> Agent:
        """Register an agent; the same one again gives the same."""
        known = await self.records.find(definition.id)
        if known is not None:
            return known
        key = keys.bundle(definition.id)
        bundle = await self.objects.put(keys.BUCKET, key, definition.bundle(), "application/x-tar")
        agent = Agent(
            definition.id,
            definition.name,
            definition.description,
            definition.command,
            bundle,
            self.clock.now(),
        )
        await self.records.create(agent.id, agent)
        return await self.records.get(agent.id)
