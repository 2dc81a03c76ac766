"""Agents as they are handed in."""

from __future__ import annotations

from dataclasses import dataclass

from firetrial_kit import tenants
from firetrial_kit.clock import Clock
from firetrial_kit.errors import Fault, invalid
from firetrial_kit.objects import Objects
from firetrial_kit.records import Records
from firetrial_runner import archive, keys
from firetrial_runner.agent import Agent, AgentDefinition
from firetrial_runner.importing.imported import Imported


@dataclass(frozen=True, slots=True)
class Agents:
    records: Records[Agent]
    objects: Objects
    clock: Clock

    async def submit(self, definition: AgentDefinition) -> Agent:
        """Register an agent; the same one again gives the same."""
        id_ = tenants.mine(definition.id)
        known = await self.records.find(id_)
        if known is not None:
            return known
        key = keys.bundle(id_)
        bundle = await self.objects.put(keys.BUCKET, key, definition.bundle(), "application/x-tar")
        agent = Agent(
            id_,
            definition.name,
            definition.description,
            definition.command,
            bundle,
            self.clock.now(),
            definition.program,
            definition.image,
        )
        await self.records.create(agent.id, agent)
        return await self.records.get(agent.id)

    async def submit_elsewhere(self, told: Imported) -> Agent:
        """Register an agent whose runs were made elsewhere: it has no command and no files.

        Raises INVALID where another agent and model come to the same id.
        """
        description = f"made elsewhere, {told.agent} with {told.model or 'a model that is not told'}"
        known = await self.records.find(told.agent_id)
        if known is None:
            key = keys.bundle(told.agent_id)
            bundle = await self.objects.put(keys.BUCKET, key, archive.bundle(iter(())), "application/x-tar")
            agent = Agent(told.agent_id, told.agent, description, (), bundle, self.clock.now())
            await self.records.create(agent.id, agent)
            known = await self.records.get(agent.id)
        if known.description != description:
            cure = f"must be told apart from one that was imported before: {known.description}"
            raise invalid("the agent", [Fault("header.agent", told.agent_id, cure)])
        return known
