from hypothesis import given
from hypothesis import strategies as st

from firetrial_parser.prose import flat, join_lines, located, phrases, sentences, vocabulary_of

WORDS = st.from_regex(r"[a-z]{1,12}", fullmatch=True)


def test_a_broken_word_is_mended() -> None:
    lines = ["we measure how accu-", "racy changes"]
    assert join_lines(lines, vocabulary_of(lines)) == "we measure how accuracy changes"


def test_a_compound_keeps_its_hyphen_when_the_paper_writes_it_so() -> None:
    vocabulary = vocabulary_of(["the key-value task", "a question"])
    assert join_lines(["a key-", "value task"], vocabulary) == "a key-value task"
    assert join_lines(["chain-of-", "thought"], vocabulary) == "chain-of-thought"
    assert join_lines(["MPT-", "30B"], vocabulary) == "MPT-30B"


def test_halves_of_a_broken_word_are_not_words() -> None:
    assert vocabulary_of(["offer sugges-", "tions for work"]) == {"offer", "for", "work"}


def test_two_known_words_form_a_compound() -> None:
    vocabulary = vocabulary_of(["language is a model of thought", "based on it"])
    assert join_lines(["a language-", "model based"], vocabulary) == "a language-model based"


@given(st.lists(WORDS, min_size=1, max_size=30))
def test_joining_whole_words_loses_none(words: list[str]) -> None:
    assert join_lines(words, set(words)).split() == words


def test_sentences_stop_at_ends_only() -> None:
    text = (
        "See Fig. 3 by Liu et al. (2023), e.g. the left one. It falls by 3.5% (p < .05). "
        '"Why?" We ask J. Doe.'
    )
    assert sentences(text) == [
        "See Fig. 3 by Liu et al. (2023), e.g. the left one.",
        "It falls by 3.5% (p < .05).",
        '"Why?"',
        "We ask J. Doe.",
    ]


@given(st.text(max_size=300))
def test_sentences_keep_every_visible_character(text: str) -> None:
    assert "".join("".join(sentences(text)).split()) == "".join(text.split())


@given(st.text(max_size=300))
def test_sentences_are_where_they_are_said_to_be(text: str) -> None:
    found = list(located(text))
    assert [sentence for _, sentence in found] == sentences(text)
    assert all(text[at : at + len(sentence)] == sentence for at, sentence in found)
    assert [at for at, _ in found] == sorted({at for at, _ in found})


def test_flat_makes_typography_equal() -> None:
    assert flat("“A  –\nB”") == '"a - b"'


def test_phrases_are_runs_of_words_without_punctuation_and_case() -> None:
    taken = phrases("The accuracy falls, by forty points", 5)
    assert taken == {
        ("the", "accuracy", "falls", "by", "forty"),
        ("accuracy", "falls", "by", "forty", "points"),
    }
    assert not taken.isdisjoint(phrases("We see that Accuracy falls by forty points.", 5))
    assert phrases("Accuracy falls.", 5) == set()
