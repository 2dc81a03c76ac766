"""Experiments beside each other: caveats first, then differences over what is shared."""

import json
from dataclasses import replace

import pytest

from firetrial_analyzer.analysis import AnalysedRun, Judge
from firetrial_analyzer.compose import build
from firetrial_analyzer.outcomes import Outcome
from firetrial_analyzer.render import Format
from firetrial_analyzer.render.versus import render
from firetrial_analyzer.report import Experiment, Report
from firetrial_analyzer.versus import versus
from firetrial_kit.errors import FiretrialError, Reason
from unit.analyzer import sample
from unit.analyzer.hostile import HOSTILE, Page, hostile

TASKS = tuple(f"task-{n}" for n in range(6))


def report(
    experiment: str,
    gain: float = 0.0,
    *,
    agents: tuple[str, ...] = ("a@1", "b@1"),
    tasks: tuple[str, ...] = TASKS,
) -> Report:
    runs = [
        AnalysedRun(
            replace(
                sample.outcome(agent, 1, Outcome.SCORED, f1=0.2 + 0.05 * place + gain, usd=0.1, task=task),
                experiment=experiment, run_id=f"r-{agent.replace('@', '')}{place}",
            )
        )
        for agent in agents
        for place, task in enumerate(tasks)
    ]  # fmt: skip
    return build(Experiment(experiment, (), len(runs)), runs)


def test_a_gain_is_positive_and_tested_over_shared_tasks() -> None:
    (against,) = versus(report("e-1"), [report("e-2", 0.1)]).others
    assert against.caveats == against.notes == ()
    assert [match.name for match in against.matches] == ["a", "b"]
    for match in against.matches:
        assert match.comparison.tasks == 6
        assert match.comparison.difference == pytest.approx(0.1)
        # Two sides of 64 sign flips, and Holm's correction for two agents.
        assert match.comparison.p_value == pytest.approx(2 / 64)
        assert match.comparison.p_adjusted == pytest.approx(4 / 64)
        assert [pair.difference for pair in match.tasks] == pytest.approx([0.1] * 6)


def test_the_correction_covers_all_experiments() -> None:
    compared = versus(report("e-1"), [report("e-2", 0.1), report("e-3", 0.2)])
    adjusted = [match.comparison.p_adjusted for against in compared.others for match in against.matches]
    assert adjusted == pytest.approx([8 / 64] * 4)


def test_what_cannot_be_compared_is_said_first() -> None:
    hash_, other_hash = "0123456789ab", "ba9876543210"
    base = report("e-1", tasks=(f"noise-{hash_}", f"only-{hash_}", "same"))
    other = replace(
        report("e-2", tasks=(f"noise-{other_hash}", "same", "new"), agents=("a@2", "c@1")),
        judges=(Judge("model", "m", "ffff", ""),), expected_runs=99, model="m-2",
    )  # fmt: skip
    (against,) = versus(base, [other]).others
    said = " ".join(against.caveats)
    for text in (
        "judged differently (nobody here, model m ffff there)",
        "other versions of the same and are not compared: noise.",
        f"Only here: only-{hash_}.",
        "Only there: new.",
        "The report there is preliminary: 6 of 99 runs ended.",
    ):
        assert text in said, text
    assert against.notes == ("Agents’ model: unknown here, m-2 there.", "Another version of the agent: a.")
    assert against.shared_tasks == ("same",)
    assert (against.only_base, against.only_other) == (("b",), ("c",))
    assert against.matches[0].comparison.p_value is None
    source = render(versus(base, [other]), Format.HTML).decode()
    assert source.index("judged differently") < source.index("<table")
    written = render(versus(base, [other]), Format.MARKDOWN).decode()
    assert written.index("judged differently") < written.index("| Agent |")


def test_experiments_without_a_common_task_are_told_so() -> None:
    (against,) = versus(report("e-1"), [report("e-2", tasks=("x", "y"))]).others
    assert "They share no task, so that no agent can be compared." in against.caveats
    assert all(match.comparison.difference is None for match in against.matches)
    for form in (Format.HTML, Format.MARKDOWN, Format.JSON):
        assert render(versus(report("e-1"), [report("e-2", tasks=("x",))]), form)


def test_two_versions_of_an_agent_keep_their_whole_names() -> None:
    (against,) = versus(report("e-1", agents=("a@1", "a@2")), [report("e-2", agents=("a@1", "a@2"))]).others
    assert [match.name for match in against.matches] == ["a@1", "a@2"]


def test_as_json_it_is_a_schema_of_its_own() -> None:
    told = json.loads(render(versus(report("e-1"), [report("e-2")]), Format.JSON))
    assert told["schema"] == "firetrial.comparison/1"
    assert told["others"][0]["matches"][0]["comparison"]["difference"] == pytest.approx(0)


@pytest.mark.parametrize("form", [Format.CSV, Format.LATEX, Format.PARQUET])
def test_other_formats_are_refused_with_those_that_there_are(form: Format) -> None:
    with pytest.raises(FiretrialError, match="comparison") as error:
        render(versus(report("e-1"), [report("e-2")]), form)
    assert error.value.reason is Reason.INVALID
    assert "html, md, json" in error.value.faults[0].cure


@pytest.mark.parametrize("text", HOSTILE)
def test_a_comparison_holds_text_and_no_markup(text: str) -> None:
    compared = versus(hostile(text), [hostile(text)])
    page = Page(render(compared, Format.HTML).decode())
    assert {tag for tag, _ in page.tags} <= {
        "html", "head", "meta", "title", "link", "style", "body", "header", "p", "h1", "main", "section",
        "h2", "h3", "div", "table", "thead", "tbody", "tr", "th", "td", "footer", "strong",
    }  # fmt: skip
    for block in render(compared, Format.MARKDOWN).decode().split("\n\n"):
        if block.startswith("|"):
            assert len({row.replace(r"\|", "").count("|") for row in block.splitlines()}) == 1
