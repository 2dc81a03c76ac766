"""The runs of known error as the other services leave them, and a model that is scripted to judge them."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import structlog
from google.protobuf.json_format import MessageToJson

from firetrial.artifact.v1 import artifact_pb2
from firetrial.judge.v1 import events_pb2 as judge_events
from firetrial.judge.v1 import judgement_pb2
from firetrial.parser.v1 import task_pb2
from firetrial_analyzer.analysing import Analysing
from firetrial_analyzer.analysis import AnalysedRun
from firetrial_analyzer.attributing.answers import Answers
from firetrial_analyzer.attributing.attributor import Attributor
from firetrial_analyzer.attributing.instructions import load_prompts
from firetrial_analyzer.attributing.pieces import Size
from firetrial_analyzer.attributing.spending import Account, Accounts
from firetrial_analyzer.handlers import Handlers
from firetrial_analyzer.taxonomy.catalogue import ErrorType, load
from firetrial_kit.asking import Price
from firetrial_kit.bus import Outgoing
from firetrial_kit.models import Endpoint, ModelClient
from firetrial_kit.objects import ObjectRef
from firetrial_kit.records import Records
from support.scripted_models import Reply, Request, ScriptedModels, answer
from unit.analyzer.bench import TASK, Bench, claim, run, slip

DATA = Path(__file__).parent / "data"
CASES: list[dict[str, Any]] = json.loads((DATA / "trajectories.json").read_text())
BY_FILE = {case["file"][:2]: case for case in CASES}
PRICE = Price(1.0, 4.0, 0.5)
MISSED = "The paper's finding, which the conclusion does not have."
_FENCE = re.compile(r"<<(\w+) ([^\n]+)\n(.*?)\n\1>>", re.DOTALL)


def sections(request: Request) -> dict[str, str]:
    """What the request fences, by title."""
    return {title: text for _, title, text in _FENCE.findall(request.prompt)}


def form(request: Request) -> str:
    return str(request.body["response_format"]["json_schema"]["name"])


def lines(text: str) -> list[tuple[int, str]]:
    """Numbered lines of a log as it is shown, but for those too short to quote."""
    found = re.findall(r"^\[(\d+)\] (?:\(\w+\) )?(.{8,})$", text, re.MULTILINE)
    return [(int(number), line.split(" […")[0][:150]) for number, line in found]


def observed(request: Request) -> dict[str, Any]:
    """What a diligent reader notes: the first lines of its part."""
    told = sections(request)
    claims = [claim["id"] for claim in json.loads(told["CLAIMS"])]
    (log,) = (text for title, text in told.items() if title.startswith("LOG"))
    return {
        "observations": [
            {"what": "the agent says so", "claims": claims, "citations": [{"step": number, "quote": quote}]}
            for number, quote in lines(log)[:3]
        ]
    }


def decided(request: Request, case: Mapping[str, Any]) -> dict[str, Any]:
    """The right verdicts, with a step that was observed."""
    told = sections(request)
    citations = json.loads(told["OBSERVATIONS"])[0]["citations"]
    kind, type_ = (case["false_positive"] or {}).get("kind"), case["error_type"]
    return {
        "missed": [
            {
                "id": one["id"],
                "goal_as_asked": type_ != ErrorType.GOAL_DEVIATION,
                "method_as_asked": type_ != ErrorType.METHOD_DEVIATION,
                "type": type_,
                "rationale": "so it went",
                "citations": citations,
            }
            for one in json.loads(told["MISSED"])
        ],
        "false": [
            {"id": one["id"], "kind": kind, "against": "t1", "rationale": "as it is", "citations": citations}
            for one in json.loads(told["FALSE"])
        ],
    }


Change = Callable[[dict[str, Any], int], Reply | None]


def right(case: Mapping[str, Any], change: Change = lambda _, __: None) -> Callable[[Request], Reply]:
    """A model that attributes rightly but for `change`, which is given each verdict and its number from 0."""
    given = 0

    def script(request: Request) -> Reply:
        nonlocal given
        if form(request) == "observations":
            return answer(observed(request))
        value = decided(request, case)
        changed = change(value, given)
        given += 1
        return changed or answer(value)

    return script


@dataclass
class Trial:
    """One run, the scripted model at its endpoint, and the analyzer over both."""

    case: Mapping[str, Any]
    script: Callable[[Request], Reply] | list[Reply] | None = None
    bench: Bench = field(default_factory=Bench)
    cap: float | None = None
    size: Size | None = None
    patience: float = 5.0

    async def __aenter__(self) -> Self:
        self._stack = AsyncExitStack()
        self.models = self._stack.enter_context(ScriptedModels(self.script or right(self.case)))
        await self._leave()
        self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    def start(self) -> None:
        """A new process of the analyzer."""
        bench = self.bench
        bench.start()
        endpoint = Endpoint(
            self.models.base_url, "scripted", timeout=5, patience=self.patience, repairs=1, at_once=4
        )
        client = ModelClient(endpoint)
        self._stack.push_async_callback(client.aclose)
        attributor = Attributor(
            client, load_prompts(), load(), Answers(bench.objects), size=self.size, price=PRICE
        )
        records = Records(bench.state, "attribution-budget", Account)
        accounts = Accounts(records, self.cap, PRICE) if self.cap else None
        analysing = Analysing(bench.archive, attributor, accounts)
        bench.handlers = Handlers(bench.reports, bench.archive, structlog.get_logger(), analysing)
        bench.consumers = {one.name: one for one in bench.handlers.consumers(4)}

    async def tell(self) -> Outgoing:
        """The word that the run has ended; another one is still to come, so that no report is due."""
        if not self.case["conclusion"]:
            return await self.bench.finished(self.run, expected=2)
        event = judge_events.RunJudged(
            run=self.run, slip=slip(2), judgement_id="j-1", judgement=_ref(self._judgement)
        )
        return await self.bench.tell("judge", self.run.id, event)

    @property
    def fact(self) -> str:
        return "run_judged" if self.case["conclusion"] else "run_finished"

    async def analysed(self) -> AnalysedRun:
        """What the analyzer makes of it, from message to archive."""
        await self.tell()
        assert await self.bench.deliver(self.fact) == ["done"]
        return await self.bench.archive.analysis(self.run.id)

    async def put_steps(self, *texts: str) -> None:
        """Another trajectory: lines of output."""
        told = [
            {"step": n, "kind": "output", "stream": "stdout", "text": text} for n, text in enumerate(texts, 1)
        ]
        body = "\n".join(map(json.dumps, told)).encode()
        await self.bench.everything.put("runs", self._chunk, body, "application/gzip")

    @property
    def _chunk(self) -> str:
        return f"runs/{self.run.id}/trajectory/0000000001.jsonl.gz"

    async def _leave(self) -> None:
        """Trajectory, conclusion, task and judgement in the store."""
        self.run = run()
        put = self.bench.everything.put
        text = (DATA / "trajectories" / self.case["file"]).read_bytes()
        await put("runs", self._chunk, gzip.compress(text), "application/gzip")
        self.run.trajectory_chunks = 1
        task = task_pb2.Task(id=TASK, instruction=self.case["instruction"])
        body = MessageToJson(task, preserving_proto_field_name=True).encode()
        await put("runs", f"tasks/{TASK}/task.json", body, "application/json")
        if conclusion := self.case["conclusion"]:
            ref = await put("runs", f"runs/{self.run.id}/conclusion.md", conclusion.encode(), "text/markdown")
            self.run.conclusion.CopyFrom(_ref(ref))
            judged = MessageToJson(self._judge(), preserving_proto_field_name=True).encode()
            self._judgement = await put("results", "judgements/j-1.json", judged, "application/json")

    def _judge(self) -> judgement_pb2.Judgement:
        false = self.case["false_positive"]
        truth = false["truth"] if false else MISSED
        name = false["verdict"] if false else "UNSPECIFIED"
        verdict = judgement_pb2.Verdict.Value(f"VERDICT_{name}")
        return judgement_pb2.Judgement(
            id="j-1",
            run_id=self.run.id,
            agent_claims=[claim("a1", false["claim"], verdict)] if false else [],
            truth_claims=[claim("t1", truth, judgement_pb2.VERDICT_NEUTRAL)],
        )


def _ref(ref: ObjectRef) -> artifact_pb2.ArtifactRef:
    return artifact_pb2.ArtifactRef(uri=ref.uri, sha256=ref.sha256, size=ref.size)
