"""What the signals settle on 24 runs of known error and 4 clean ones, and what must not mislead them.

The trajectories under data/ were written by hand after the logs of real agents: each error type twice, each
kind of false claim twice, and in every clean run something that looks like trouble.
"""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_analyzer.attribution import attribute
from firetrial_analyzer.claims import JudgedClaim, Judgement, Verdict
from firetrial_analyzer.taxonomy.catalogue import ErrorType, load
from firetrial_analyzer.taxonomy.evidence import Asked, Evidence, asked_of, gather
from firetrial_analyzer.taxonomy.settle import Settled, settle
from firetrial_analyzer.taxonomy.signals import signals
from firetrial_analyzer.taxonomy.steps import Step, by_number, holds, read
from firetrial_analyzer.taxonomy.troubles import kind_of

DATA = Path(__file__).parent / "data"
CASES: list[dict[str, Any]] = json.loads((DATA / "trajectories.json").read_text())
CAN_BE_SETTLED = set(ErrorType) - {ErrorType.GOAL_DEVIATION}


def evidence(case: dict[str, Any]) -> Evidence:
    with (DATA / "trajectories" / case["file"]).open() as lines:
        return gather(list(read(lines)), case["conclusion"], asked_of(case["instruction"]))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["file"].removesuffix(".jsonl"))
def test_a_trajectory_is_settled_rightly_or_not_at_all(case: dict[str, Any]) -> None:
    found = settle(evidence(case))
    assert found.error_type == (case["error_type"] if case["settled"] else None)
    assert bool(found.proof) is case["settled"]


def test_each_type_and_kind_is_there_twice_and_eleven_types_are_settled() -> None:
    types = Counter(case["error_type"] for case in CASES if case["error_type"])
    kinds = Counter(case["false_positive"]["kind"] for case in CASES if case["false_positive"])
    assert types == dict.fromkeys(ErrorType, 2)
    assert (len(kinds), set(kinds.values())) == (4, {2})
    assert {case["error_type"] for case in CASES if case["settled"]} == CAN_BE_SETTLED
    assert sum(case["settled"] for case in CASES) == 20


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["file"].removesuffix(".jsonl"))
def test_every_cited_step_exists_and_holds_its_quote(case: dict[str, Any]) -> None:
    given = evidence(case)
    index = by_number(given.steps)
    for signal in signals(given):
        assert signal.citations
        assert all(holds(index, citation) for citation in signal.citations), signal


def test_the_taxonomy_names_the_signals_that_settle_each_type() -> None:
    named = {leaf.id: leaf.signals for leaf in load().error_types}
    for case in CASES:
        for signal in settle(evidence(case)).proof:
            assert signal.settles
            assert signal.name in named[signal.settles]


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if case["false_positive"]],
    ids=lambda case: case["file"].removesuffix(".jsonl"),
)
def test_the_false_claims_of_the_runs_are_typed_by_rules(case: dict[str, Any]) -> None:
    false = case["false_positive"]
    claim = JudgedClaim("a1", false["claim"], Verdict(false["verdict"]), false["truth"])
    truth = JudgedClaim("t1", false["truth"], Verdict.NEUTRAL, "")
    (found,) = attribute(Judgement("r", (claim,), (truth,))).false_positives
    assert found.kind == false["kind"]


def run(text: str, end: str = "exited with 0", conclusion: str = "", asked: Asked | None = None) -> Settled:
    """Of a shell transcript."""
    lines = [Step(n, n, float(n), "stdout", line) for n, line in enumerate(text.strip().split("\n"), 1)]
    last = Step(len(lines) + 1, len(lines) + 1, 99.0, "", end)
    return settle(gather([*lines, last], conclusion, asked))


def facts(found: Settled) -> list[tuple[str, ErrorType | None]]:
    return [(fact.name, fact.settles) for fact in found.facts]


def test_an_early_set_up_error_does_not_explain_why_an_agent_stops() -> None:
    found = run(
        "$ nvidia-smi\nbash: nvidia-smi: command not found\n$ cat > run.py <<'E'\nNext I will run it."
    )
    assert found.error_type is ErrorType.PREMATURE_TERMINATION


def test_a_failed_installation_that_the_agent_does_without_is_no_cause() -> None:
    text = "$ pip install x\nERROR: No matching distribution found for x\n$ python run.py\naccuracy: 0.5"
    assert run(text, conclusion="It is 0.5.").error_type is None
    assert run(text, "timed_out: 10 s").error_type is ErrorType.TIMEOUT


def test_code_that_was_written_after_the_last_failure_leaves_it_open() -> None:
    text = "$ python run.py\nModuleNotFoundError: No module named 'x'\n$ cat > run.py <<'E'\nimport y"
    assert run(text, conclusion="Nothing.").error_type is ErrorType.PREMATURE_TERMINATION


def test_two_causes_that_do_not_explain_each_other_settle_nothing() -> None:
    text = "\n".join(["$ python run.py", "ModuleNotFoundError: No module named 'x'"] * 6)
    found = run(text)
    assert {settles for _, settles in facts(found)} >= {ErrorType.ENDLESS_LOOP, ErrorType.ENVIRONMENT_SETUP}
    assert (found.error_type, found.proof) == (None, ())


def test_where_steps_are_missing_only_the_end_proves_anything() -> None:
    for case in CASES:
        given = evidence(case)
        partly = settle(replace(given, whole=False))
        assert {fact.name for fact in partly.facts} == {fact.name for fact in settle(given).facts}
        proven = {fact.name for fact in partly.facts if fact.settles}
        assert proven <= {
            "same_actions_repeated", "ended_without_conclusion", "limit_hit", "killed_or_crashed"
        }  # fmt: skip
    few = run("$ python run.py\naccuracy: 0.50 n=5", conclusion="It is 0.5.", asked=Asked(samples=100))
    assert few.error_type is ErrorType.LAZINESS


def test_digits_in_an_id_are_no_http_error() -> None:
    assert kind_of("request 4291 done, id 503-429, file_500.json, accuracy 0.401") is None
    assert kind_of("status: 200 after 503 ms") is None
    assert kind_of("HTTP/1.1 503 Service Unavailable") is ErrorType.API_CALL_ISSUE
    assert kind_of("openai.RateLimitError: slow down") is ErrorType.API_CALL_ISSUE


def test_errors_that_a_program_outside_of_commands_got_past_are_no_cause() -> None:
    text = "WARN status 429, retrying\nWARN status 429, retrying\naccuracy: 0.71 (n=200)"
    assert run(text, conclusion="It is 0.71.").error_type is None
    assert run("accuracy: 0.71\nfatal: status 401", "exited with 1").error_type is ErrorType.API_CALL_ISSUE


def test_a_model_that_refuses_in_the_data_is_not_the_agent_refusing() -> None:
    text = "$ python run.py\nI cannot help with that request, it is against safety guidelines\nrefusals: 0.90"
    assert run(text, conclusion="Refusals: 0.90.").error_type is None


def test_waiting_for_a_long_program_is_no_loop() -> None:
    text = "\n".join(["$ sleep 60; tail -1 log", "epoch 3"] * 8)
    assert run(text, "timed_out: 480 s").error_type is ErrorType.TIMEOUT


def test_a_loop_that_was_left_is_only_a_fact() -> None:
    text = "\n".join(["$ python run.py", "KeyError: 'x'"] * 6)
    assert facts(run(text, conclusion="Found it.")) == [("same_actions_repeated", None)]
    varied = "\n".join(f"$ python run.py --seed {n}\nKeyError: 'x'" for n in range(6))
    assert run(varied, "timed_out: 9 s").error_type is ErrorType.TIMEOUT


def test_a_command_whose_results_change_is_no_loop_and_one_whose_times_change_is() -> None:
    better = "\n".join(f"$ python run.py\nloss {9 - n}.25" for n in range(6))
    slower = "\n".join(f"$ python run.py\nKeyError: 'x' after 1{n}.5 s at 09:1{n}:00" for n in range(6))
    assert run(better, "timed_out: 9 s").error_type is ErrorType.TIMEOUT
    assert run(slower, "timed_out: 9 s").error_type is ErrorType.ENDLESS_LOOP


def test_a_loop_of_other_tools_is_quoted_by_their_name() -> None:
    part = {"type": "tool_use", "name": "Read", "input": {"file_path": "/w/x.py"}}
    lines = [
        Step(n, n, 0.0, "stdout", json.dumps({"message": {"content": [{**part, "id": str(n)}]}}))
        for n in range(1, 8)
    ]
    found = settle(gather([*lines, Step(8, 8, 1.0, "", "timed_out: 9 s")]))
    assert found.error_type is ErrorType.ENDLESS_LOOP
    assert all(holds(by_number(lines), citation) for fact in found.proof for citation in fact.citations)


def test_a_long_log_in_no_known_form_takes_time_in_proportion() -> None:
    text = "\n".join(f"epoch {n} accuracy: 0.{n}" for n in range(20_000)) + "\nstatus 503"
    assert run(text, "exited with 1").error_type is ErrorType.API_CALL_ISSUE


@pytest.mark.parametrize(
    ("shown", "settled"),
    [("n=10", True), ("n=50", True), ("n=51", False), ("n=99", False), ("n=100", False), ("ok", False)],
)
def test_laziness_is_half_of_what_was_asked_or_less(shown: str, settled: bool) -> None:
    text = f"$ python run.py\nloaded 2655 questions\naccuracy: 0.50 {shown}"
    found = run(text, conclusion="It is 0.5.", asked=Asked(samples=100))
    assert (found.error_type is ErrorType.LAZINESS) is settled


def test_the_largest_count_of_all_experiments_is_what_counts() -> None:
    text = "$ python run.py\naccuracy: 0.50 n=5\n$ python run.py\naccuracy: 0.52 (100 samples)"
    assert run(text, conclusion="It is 0.52.", asked=Asked(samples=100)).error_type is None


def test_another_model_beside_the_one_that_was_asked_for_is_no_deviation() -> None:
    asked = Asked(models=("meta-llama/Llama-2-7b",))
    both = "$ python run.py --model gpt-4o --subject llama-2-7b-chat\naccuracy: 0.5"
    other = "$ python run.py --model gpt-4o\naccuracy: 0.5"
    assert run(both, conclusion="x", asked=asked).error_type is None
    assert run(other, conclusion="x", asked=asked).error_type is ErrorType.METHOD_DEVIATION
    assert run(other, conclusion="x").error_type is None, "nothing was asked for"


def test_another_dataset() -> None:
    text = "$ python -c 'load_dataset(\"glue\")'; python a.py\n"
    asked = Asked(datasets=("cais/mmlu",))
    assert run(text + "accuracy: 0.5", conclusion="x", asked=asked).error_type is ErrorType.METHOD_DEVIATION
    assert run(text + "mmlu accuracy: 0.5", conclusion="x", asked=asked).error_type is None


def test_stand_ins_that_failing_calls_forced_are_only_a_fact() -> None:
    write = "$ cat > a.py <<'E' && python a.py  # fake responses: random.random()\naccuracy: 0.5"
    assert run(write, conclusion="x").error_type is ErrorType.UNSOUND_IMPLEMENTATION
    forced = run(f"$ python b.py\nHTTP 503\n{write}", conclusion="x")
    assert ("stand_in_results", None) in facts(forced)
    assert forced.error_type is None


def test_one_figure_that_differs_may_be_a_mean_and_two_that_are_exchanged_are_not() -> None:
    text = "$ python run.py\nfast accuracy: 0.80\nslow accuracy: 0.60"
    one = run(text, conclusion="Fast accuracy: 0.70")
    assert facts(one) == [("conclusion_contradicts_output", None)]
    assert run(text, conclusion="Fast accuracy: 80%, slow accuracy: 0.6").facts == ()
    both = run(text, conclusion="Fast accuracy: 0.60\nSlow accuracy: 0.80")
    assert both.error_type is ErrorType.ANALYSIS_FAILURE


def test_an_end_by_itself_with_words_of_conclusion_is_not_called_premature() -> None:
    text = "$ python run.py\naccuracy: 0.5"
    assert run(text).error_type is ErrorType.PREMATURE_TERMINATION
    told = [Step(1, 1, 0.0, "stdout", json.dumps({"type": "result", "result": "My findings: it is 0.5."}))]
    found = settle(gather([*told, Step(2, 2, 1.0, "", "exited with 0")]))
    assert facts(found) == [("ended_without_conclusion", None)]


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        ("oom_killed: 16 GiB", ErrorType.OTHER),
        ("disk_limit: 5 GiB", ErrorType.OTHER),
        ("ended by signal 11", ErrorType.OTHER),
        ("exited with 139", ErrorType.OTHER),
        ("exited with 1", None),
        ("cancelled: by a person", None),
    ],
)
def test_ends_by_another_hand(end: str, expected: ErrorType | None) -> None:
    assert run("$ ls\ndata", end).error_type is expected
    assert run("$ ls\ndata", end, conclusion="x").error_type is None


EDIT = {"type": "tool_use", "id": "1", "name": "Edit", "input": {"file_path": "a.py", "new_string": ""}}
PIECES = [
    "$ python run.py",
    "$ cat > a.py <<'E'",
    "accuracy: 0.50 n=5",
    "HTTP 429",
    "Traceback (most recent call last):",
    "**FileEditAction**",
    "Path: [a.py]",
    "**CmdRunAction (x)**",
    "COMMAND:",
    "python a.py",
    "ACTION",
    "```",
    "**CmdOutputObservation (x, exit code=1, y)**",
    "AgentFinishAction(final_thought='x')",
    "Killed",
    "  ",
    "",
    '{"type": "result", "subtype": "error_max_turns"}',
    '{"item": {"type": "file_change", "changes": [{}]}}',
    '{"type": "item.completed", "item": {"type": "command_execution", "command": "./a"}}',
    json.dumps({"message": {"content": [EDIT]}}),
]
ENDS = ["exited with 0", "exited with 1", "ended by signal 9", "timed_out: 1 s", "oom_killed: x", "started"]


@given(
    st.lists(st.sampled_from(PIECES), max_size=40), st.sampled_from(ENDS), st.sampled_from(["", "It is 0.9."])
)
def test_any_log_is_settled_without_fail_and_every_quote_holds(
    lines: list[str], end: str, conclusion: str
) -> None:
    told = [Step(n, n, 0.0, "stdout", line) for n, line in enumerate(lines, 1)]
    told.append(Step(len(told) + 1, len(told) + 1, 1.0, "", end))
    found = settle(gather(told, conclusion, Asked(100, ("gpt-4",), ("x",))))
    index = by_number(told)
    assert all(holds(index, citation) for fact in found.facts for citation in fact.citations)
    assert all(fact.settles is found.error_type for fact in found.proof)


def test_an_empty_trajectory_has_no_facts() -> None:
    assert settle(gather([])) == Settled(None, (), ())


def test_what_an_instruction_asks_for() -> None:
    text = (
        "Models: gpt-3.5-turbo and Qwen/Qwen2.5-7B. The data has 2655 questions. Use up to 900 prompts. "
        "Run with 50 samples per position and 3 seeds. ds = load_dataset(\"openai/gsm8k\", 'main')"
    )
    assert asked_of(text) == Asked(50, ("gpt-3.5-turbo", "Qwen/Qwen2.5-7B"), ("openai/gsm8k",))
    assert asked_of("Find out more.") == Asked()


@pytest.mark.needs("shared")
def test_official_instructions(shared: Path) -> None:
    folder = shared / "firebench" / "official" / "benchmark" / "papers"
    for task, samples, models in [
        ("lost_in_the_middle", 50, ("gpt-3.5-turbo",)),
        ("activation_control", None, ("Qwen/Qwen2.5-7B", "Qwen/Qwen2.5-7B-Instruct", "Qwen/Qwen2.5-Math-7B")),
    ]:
        found = asked_of((folder / task / "instruction" / "instruction.txt").read_text())
        assert (found.samples, found.models) == (samples, models)
