import gzip
import json

import pytest

from firetrial.analyzer.v1 import analyzer_service_pb2 as pb
from firetrial_kit.errors import FiretrialError, Reason
from unit.analyzer.bench import Bench, run

STEPS: list[dict[str, object]] = [
    {"kind": "edit", "path": "a.py", "text": "+x = train(lr=0.1)"},
    {"kind": "command", "text": "python a.py", "call": "c1", "exit_code": 0},
    {"kind": "edit", "path": "a.py", "text": "-x = train(lr=0.1)\n+x = train(lr=0.2)"},
    {"kind": "command", "text": "python a.py", "call": "c2", "exit_code": 1},
]


async def test_metrics_of_a_run_from_its_trajectory() -> None:
    bench = Bench()
    made = run()
    made.usage.tokens = 300
    made.usage.wall_time.FromSeconds(8)
    lines = [json.dumps({"step": n, "offset_s": n, **step}) for n, step in enumerate(STEPS, 1)]
    key = f"runs/{made.id}/trajectory/0000000001.jsonl.gz"
    await bench.everything.put("runs", key, gzip.compress("\n".join(lines).encode()), "application/gzip")
    await bench.judged(made)
    await bench.deliver("run_judged")
    request = pb.GetProcessMetricsRequest(run_id=made.id)
    metrics = (await bench.servicer.GetProcessMetrics(request, None)).metrics
    assert (metrics.run_id, metrics.steps, metrics.step_success_rate) == (made.id, 2, 0.5)
    assert (metrics.tokens_per_step, metrics.seconds_per_step) == (150, 4)
    assert not metrics.HasField("step_completion_rate")
    assert not metrics.HasField("auc")
    assert 0 < metrics.exploration_reach < 1
    assert metrics.embedder == "hashed-tokens/1"
    assert (await bench.servicer.GetProcessMetrics(request, None)).metrics == metrics


async def test_a_run_that_there_is_not() -> None:
    with pytest.raises(FiretrialError) as caught:
        await Bench().servicer.GetProcessMetrics(pb.GetProcessMetricsRequest(run_id="r-none"), None)
    assert caught.value.reason is Reason.NOT_FOUND
