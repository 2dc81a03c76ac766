"""What counts as a result in a proposal, and what only looks like one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_kit.errors import FiretrialError, check
from firetrial_parser.soundness import outcomes
from firetrial_parser.soundness.proposal import Experiment, Proposal

RESULTS = (
    "We find that larger models memorise more.",
    "Our results show a clear benefit of retrieval.",
    "Experiments confirm that depth matters more than width.",
    "The method achieves 93.2% accuracy on the test split.",
    "Our approach reaches an F1 of 0.81 on the held-out documents.",
    "Accuracy drops from 80 to 60 under noise.",
    "It outperforms all baselines on every task.",
    "Pruning surpasses distillation on both corpora.",
    "The error rate is reduced by 15%.",
    "The difference is statistically significant.",
    "The gap was significant (p < 0.01).",
    "A paired test gave p = 0.003 for the first corpus.",
    "Fine-tuning significantly improves robustness.",
    "Table 3 shows the scores of each model.",
    "As shown in Figure 2, loss falls with scale.",
    "The attack success rate was 97% against the undefended model.",
    "Our model achieves a new state of the art.",
    "We observed no difference between the two optimisers.",
    "This confirms our hypothesis about calibration.",
    "As expected, the larger model wins.",
    "Surprisingly, the smallest network does best.",
    "BLEU improves by 3.4 points over greedy decoding.",
    "We trained for ten epochs, and our method outperforms the baseline by 3.2 points.",
    "The perplexity of the pruned model is 12.4.",
    "In our experiments, the adapter was consistently better.",
    "We demonstrate that attention heads specialise.",
    "Latency fell by 40% at the same recall.",
    "The null hypothesis was rejected for all three pairs.",
    "It was found that dropout hurts calibration.",
    "Our evaluation reveals that annotators disagree.",
    "The classifier improved accuracy across all subgroups.",
    "The two curves are significantly different; the first is 4.1% higher.",
    "We found the second prompt to be the most robust.",
    "Training is 2.5x faster.",
)
PLANS = (
    "We use a learning rate of 0.1 and a batch size of 64.",
    "We set the learning rate to 0.1 and halve it every 10 epochs.",
    "ImageNet contains 1.28 million images of 1,000 classes.",
    "The base model has 110M parameters and 12 layers.",
    "We expect that retrieval outperforms fine-tuning on rare facts.",
    "We hypothesise that accuracy improves by at least 2 points.",
    "We test whether pruning surpasses distillation.",
    "Does the error rate drop by half when labels are cleaned?",
    "Differences are tested with a paired t-test at p < 0.05.",
    "Statistical significance will be assessed by a permutation test with 10,000 draws.",
    "We report mean accuracy and its standard deviation over 5 seeds.",
    "Training stops once validation accuracy reaches 95%.",
    "We keep models that score above 50% accuracy on the screening set.",
    "Chance accuracy is 25% because each question has four options.",
    "We find the nearest neighbours of each point by exact search.",
    "We find thresholds by grid search on the validation split.",
    "We observe the gradient norm at each step.",
    "We increase the noise level from 0.1 to 0.5 in steps of 0.1.",
    "Dropout of 0.1 is applied to all layers.",
    "We drop 10% of the tokens at random.",
    "We reduce the batch size to 16 on the smaller GPUs.",
    "Zhang et al. (2020) find that depth outperforms width.",
    "Prior work reports 85% accuracy on this corpus [12].",
    "Models may fail on inputs longer than 4,096 tokens.",
    "If the adapter outperforms full fine-tuning, we repeat the comparison on a second corpus.",
    "We compare recall@10, F0.5 and top-5 accuracy.",
    "A power analysis shows that 200 items would detect a difference of 5 points.",
    "The aim is to show that calibration survives quantisation.",
    "The data are split 80/10/10 into training, validation and test.",
    "Each configuration is repeated with 3 seeds, and 95% confidence intervals are bootstrapped.",
    "The metric would reach 1.0 for a perfect ranking.",
    "We ask whether human agreement correlates with model confidence.",
    "We sample 500 questions at temperature 0.7.",
    "The best checkpoint is selected on validation loss.",
    "Inputs are truncated to 512 tokens, which covers 99% of the documents.",
    "A single annotator could bias the labels.",
)


@pytest.mark.parametrize("text", RESULTS)
def test_a_result_is_found(text: str) -> None:
    assert list(outcomes.of_text("abstract", text))


@pytest.mark.parametrize("text", PLANS)
def test_a_plan_is_no_result(text: str) -> None:
    assert list(outcomes.of_text("experiments[0].setup", text)) == []


def test_what_is_believed_may_be_said_plainly_without_numbers() -> None:
    believed = "Retrieval outperforms fine-tuning on rare facts."
    assert list(outcomes.of_text("hypothesis", believed)) == []
    assert list(outcomes.of_text("abstract", believed))
    assert list(outcomes.of_text("hypothesis", "Retrieval outperforms fine-tuning by 4.2 points."))


@pytest.mark.parametrize(
    "name", ["recall@10", "F0.5", "BLEU-4", "top-5 accuracy", "pass@1", "95% confidence interval of F1"]
)
def test_a_metric_may_have_a_number_in_its_name(name: str) -> None:
    assert list(outcomes.of_text("experiments[0].metrics[0]", name)) == []


@pytest.mark.parametrize(
    "told", ["accuracy 93%", "F1 = 0.81", "accuracy (0.93)", "perplexity: 12", "BLEU of 31"]
)
def test_a_metric_may_have_no_value(told: str) -> None:
    (found,) = outcomes.of_text("experiments[0].metrics[0]", told)
    assert found.text == told


def test_a_mark_at_its_end_makes_no_question_of_a_result() -> None:
    assert list(outcomes.of_text("abstract", "We find that larger models memorise more?"))
    assert not list(outcomes.of_text("abstract", "Which model outperforms the baseline by 3 points?"))


def proposal(abstract: str, setup: str = "") -> Proposal:
    return Proposal("A is better than B.", abstract, experiments=(Experiment("Compare.", setup=setup),))


def test_masking_takes_out_the_clause_alone_and_lists_it_exactly() -> None:
    text = (
        "We train for ten epochs with a rate of 0.1, and our method outperforms the baseline by 3.2 points."
    )
    kept, found = outcomes.masked(proposal("Nothing here.", text))
    assert kept.experiments[0].setup == f"We train for ten epochs with a rate of 0.1, and {outcomes.MASK}."
    (one,) = found
    assert (one.part, one.text) == ("experiments[0].setup", text[one.start : one.end])
    assert one.text == "our method outperforms the baseline by 3.2 points"
    assert outcomes.outcomes(kept) == []


def test_refusing_names_every_passage_and_the_cure() -> None:
    bad = proposal("We find that A wins. The setting is common. Accuracy is 93.1%.")
    with pytest.raises(FiretrialError) as caught:
        check("the proposal", outcomes.faults(outcomes.outcomes(bad)))
    assert [(f.field, f.value) for f in caught.value.faults] == [
        ("abstract", "We find that A wins"),
        ("abstract", "Accuracy is 93.1%"),
    ]
    assert all("will be measured" in fault.cure for fault in caught.value.faults)


@given(st.lists(st.sampled_from(RESULTS + PLANS), max_size=8))
def test_masked_once_is_masked(chosen: list[str]) -> None:
    text = " ".join(chosen)
    kept, found = outcomes.masked(proposal(text))
    assert all(text[one.start : one.end] == one.text for one in found)
    assert len(found) >= sum(one in RESULTS for one in chosen)
    assert outcomes.outcomes(kept) == []
    assert kept.abstract.count(outcomes.MASK) == len(found)


@pytest.mark.parametrize(
    ("kind", "found", "of"),
    # Unseen are plain statements, without a number or a word that tells of a result: rules miss most of them.
    [("seen", 23, 25), ("unseen", 2, 15)],
)
def test_what_is_found_of_sentences_written_apart_from_the_rules(kind: str, found: int, of: int) -> None:
    told = json.loads((Path(__file__).parent / "data" / "outcomes.json").read_text())[kind]
    assert len(told["results"]) == len(told["plans"]) == of
    assert sum(bool(list(outcomes.of_text("abstract", text))) for text in told["results"]) >= found
    assert [t for t in told["plans"] if list(outcomes.of_text("experiments[0].setup", t))] == []
