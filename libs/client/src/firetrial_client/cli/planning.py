"""The options that make up a plan, shared by the commands that start something."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import click

from firetrial.plan.v1.plan_pb2 import Gate, Plan
from firetrial_client import probe
from firetrial_client.aio import AsyncFiretrial
from firetrial_client.cli.agents import register
from firetrial_client.cli.app import DURATION, SIZE
from firetrial_client.plans import Spending, make_gate, make_judge, make_plan


@dataclass(frozen=True, slots=True)
class Wanted:
    """A plan as the command line gives it; see the options' help."""

    agent: tuple[str, ...] = ()
    agent_command: tuple[str, ...] = ()
    file: tuple[str, ...] = ()
    repeats: int = 1
    judge: str | None = None
    judge_model: str = ""
    judge_mode: str | None = None
    judge_panel: tuple[str, ...] = ()
    judge_repeats: int = 0
    core_idea: bool = False
    judge_max_cost: float | None = None
    wall_time: float = 0.0
    memory: int = 0
    pool: str = ""
    max_tasks: int = 1
    model: str = ""
    probe: bool = False
    max_cost: float | None = None
    run_max_cost: float | None = None
    run_max_tokens: int = 0
    run_max_calls: int = 0
    at_once: int = 0
    release: str = ""
    gpus: int = 0
    gpu_memory: int = 0
    gate: str | None = None
    gate_confidence: int = 0
    proposal: tuple[str, ...] = ()
    request_id: str = ""

    @property
    def empty(self) -> bool:
        """Whether no agent is to run."""
        return not self.agent and not self.agent_command

    def check(self) -> None:
        """Raises a usage error for options that contradict each other."""
        if self.file and not self.agent_command:
            raise click.UsageError("--file goes with --agent-command; an agent's folder brings its own files")
        if self.judge == "offline" and (self.judge_model or self.judge_panel):
            raise click.UsageError("--judge offline takes no --judge-model and no --judge-panel")
        if self.gpu_memory and not self.gpus:
            raise click.UsageError("--gpu-memory is of each GPU: say how many by --gpus")
        if (self.proposal or self.gate_confidence) and not self.gate:
            raise click.UsageError("--proposal and --gate-confidence go with --gate")
        if self.probe and not self.model:
            raise click.UsageError("--probe asks the agents' model: name it by --model")

    async def plan(self, client: AsyncFiretrial) -> Plan:
        """Register the agents and make the plan."""
        ids = await register(client, self.agent, self.agent_command, self.file)
        probing = (await client.submit_agent(probe.folder())).id if self.probe else ""
        return make_plan(
            list(dict.fromkeys([*ids, probing])) if probing else ids,
            repeats=self.repeats,
            pool=self.pool,
            wall_time=self.wall_time,
            memory=self.memory,
            judge=make_judge(
                self.judge or "",
                self.judge_model,
                mode=self.judge_mode or "",
                panel=self.judge_panel,
                repeats=self.judge_repeats,
                core_idea=self.core_idea,
                max_cost_usd=self.judge_max_cost,
            ),
            max_tasks=self.max_tasks,
            model=self.model,
            probe=probing,
            spending=Spending(
                usd=self.max_cost,
                run_usd=self.run_max_cost,
                run_tokens=self.run_max_tokens,
                run_calls={"*": self.run_max_calls} if self.run_max_calls else {},
            ),
            at_once=self.at_once,
            release=self.release,
            gpus=self.gpus,
            gpu_memory=self.gpu_memory,
            gate=self._gate(ids),
        )

    def _gate(self, agents: Sequence[str]) -> Gate | None:
        """The gate, its agents found among those of the plan by id or name."""
        if not self.gate:
            return None
        named: dict[tuple[str, str], str] = {}
        for told in self.proposal:
            whose, _, id_ = told.rpartition("=")
            agent, _, task = whose.partition(":")
            meant = [known for known in agents if agent in ("", known, known.partition("@")[0])]
            if not meant:
                raise click.UsageError(f"--proposal {told} names no agent of the plan: {', '.join(agents)}")
            named |= dict.fromkeys(((one, task) for one in meant), id_)
        return make_gate(named, mode=self.gate, min_confidence=self.gate_confidence)


_OPTIONS = (
    click.option(
        "--agent",
        multiple=True,
        metavar="ID|DIR|NAME",
        help="An agent: its id, a folder with agent.json, or one that ships: codex, oracle=FILE, …",
    ),
    click.option("--agent-command", multiple=True, metavar="CMD", help="A command line as an agent."),
    click.option(
        "--file",
        multiple=True,
        metavar="SRC[:DEST]",
        help="A file or folder for the commands, at /agent/DEST (default: its own name).",
    ),
    click.option(
        "--repeats",
        type=click.IntRange(1, 100),
        default=1,
        show_default=True,
        help="Runs of each agent on each task.",
    ),
    click.option("--judge", type=click.Choice(["offline", "model"]), help="Default: as the judge is set up."),
    click.option("--judge-model", default="", metavar="MODEL", help="The model that judges."),
    click.option(
        "--judge-mode",
        type=click.Choice(["text", "set"]),
        help="Claims against the other side's text (default) or against its claims.",
    ),
    click.option("--judge-panel", multiple=True, metavar="MODEL", help="A further model that votes."),
    click.option(
        "--judge-repeats", type=click.IntRange(0, 9), default=0, metavar="N", help="How often each judges."
    ),
    click.option("--core-idea", is_flag=True, help="Judge a summary of the conclusion's core idea."),
    click.option(
        "--judge-max-cost",
        type=click.FloatRange(min=0),
        metavar="USD",
        help="What judging the experiment may cost.",
    ),
    click.option(
        "--wall-time",
        type=DURATION,
        default=0.0,
        metavar="TIME",
        help="Limit of a run, like 90s, 10m or 1h30m.",
    ),
    click.option("--memory", type=SIZE, default=0, metavar="SIZE", help="Limit of a run, like 512M or 2G."),
    click.option(
        "--gpus", type=click.IntRange(0, 64), default=0, metavar="N", help="GPUs that a run has for itself."
    ),
    click.option(
        "--gpu-memory", type=SIZE, default=0, metavar="SIZE", help="What each has at least, like 40G."
    ),
    click.option("--pool", default="", help="The runners that take the runs."),
    click.option(
        "--max-tasks",
        type=click.IntRange(1, 20),
        default=1,
        show_default=True,
        help="Tasks to make from a paper.",
    ),
    click.option("--model", default="", metavar="MODEL", help="The model that the agents use."),
    click.option(
        "--probe", is_flag=True, help="Also ask the bare model what it knows of the findings beforehand."
    ),
    click.option(
        "--max-cost",
        type=click.FloatRange(min=0),
        metavar="USD",
        help="What all runs may spend on models.",
    ),
    click.option(
        "--run-max-cost", type=click.FloatRange(min=0), metavar="USD", help="What a run may spend on models."
    ),
    click.option(
        "--run-max-tokens", type=click.IntRange(0), default=0, metavar="N", help="Model tokens of a run."
    ),
    click.option(
        "--run-max-calls", type=click.IntRange(0), default=0, metavar="N", help="Calls of a run to a model."
    ),
    click.option(
        "--at-once", type=click.IntRange(0), default=0, metavar="N", help="Runs at the same time, at most."
    ),
    click.option("--release", default="", metavar="NAME", help="The release that the experiment belongs to."),
    click.option(
        "--gate",
        type=click.Choice(["standard", "aggressive"]),
        help="Run only agents whose --proposal was not judged low, in this mode.",
    ),
    click.option(
        "--gate-confidence",
        type=click.IntRange(0, 5),
        default=0,
        metavar="N",
        help="Let low verdicts below this confidence pass.",
    ),
    click.option(
        "--proposal",
        multiple=True,
        metavar="[AGENT[:TASK]=]ID",
        help="For --gate: of an agent, by name or id, for a task; of all and for all where left out.",
    ),
    click.option("--request-id", default="", metavar="ID", help="The same id and plan start only once."),
)


def plan_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of a plan, as one argument `wanted`. Contradictions are usage errors."""

    @functools.wraps(command)
    def run(*args: Any, **options: Any) -> None:
        names = Wanted.__slots__
        wanted = Wanted(**{name: options.pop(name) for name in names})
        wanted.check()
        command(*args, wanted=wanted, **options)

    for option in reversed(_OPTIONS):
        run = option(run)
    return run
