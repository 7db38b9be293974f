"""What a text asks for and cares about."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.retrieval.tags import (
    VOCABULARY,
    extract_tag_from_message,
    family,
    infer_query_tags,
    infer_vb_tags,
    memory_tags,
    of_family,
)

EXAMPLES = {
    "format:skeleton": "Give me an outline of the talk",
    "format:prose": "Write it in full sentences",
    "tone:meta": "Why did you put it that way in your last answer?",
    "topic:workout": "Which squats belong into Tuesday's workout?",
    "topic:fm": "Through the FM lens, please",
    "topic:hv": "What does the HV note say?",
    "intent:explain": "Why does bread rise?",
    "intent:instruct": "How do I prune a pear tree?",
    "intent:summarize": "Sum up the lease",
    "intent:analyze": "Break down my spending",
    "intent:compare": "Kayak versus canoe",
    "intent:reflect": "Looking back at this spring",
    "intent:generate": "Brainstorm names for the boat",
    "intent:rewrite": "Rephrase the letter to the landlord",
    "intent:evaluate": "Assess my draft of the toast",
    "vb:autonomy": "I want to do it my own way",
    "vb:mastery": "I'd like to get better at chess",
    "vb:connection": "A weekend with the whole family",
    "vb:security": "I am worried about the rent",
    "vb:novelty": "I want to try something new",
    "vb:order": "My desk needs a routine and a schedule",
    "vb:rest": "I am exhausted and need sleep",
    "vb:recognition": "Nobody noticed, I'd have liked some praise",
    "vb:honesty": "Be blunt with me",
    "vb:play": "Just for fun",
    "vb:care": "I am looking after my neighbour",
    "vb:meaning": "What is the purpose of all this",
}


@pytest.mark.parametrize(("tag", "text"), EXAMPLES.items(), ids=EXAMPLES)
def test_every_tag_is_found(tag: str, text: str) -> None:
    """Each in a sentence that asks for it."""
    assert tag in infer_query_tags(text)


def test_the_examples_cover_the_vocabulary() -> None:
    """No tag without an example, none that the table does not know."""
    assert set(EXAMPLES) == set(VOCABULARY)


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        pytest.param("The rest of the report", "vb:rest", id="the rest"),
        pytest.param("In order to leave early", "vb:order", id="in order to"),
        pytest.param("Where is the organism described?", "vb:order", id="organism"),
        pytest.param("Send my résumé", "intent:explain", id="a résumé explains nothing"),
        pytest.param("No bullet points, please", "format:skeleton", id="a form refused"),
        pytest.param("The training data of 2019", "topic:workout", id="training data"),
        pytest.param("How do I open it?", "intent:explain", id="how do I"),
        pytest.param("An armful of hay", "topic:fm", id="inside a word"),
    ],
)
def test_lookalikes_are_not_taken(text: str, tag: str) -> None:
    """Words that only look like a tag's."""
    assert tag not in infer_query_tags(text)


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        pytest.param("Erklär mir den Motor", "intent:explain", id="German"),
        pytest.param("Peux-tu faire un résumé ?", "intent:summarize", id="French"),
        pytest.param("Compara los dos planes", "intent:compare", id="Spanish"),
        pytest.param("Als Liste bitte", "format:skeleton", id="a German form"),
    ],
)
def test_other_languages_are_read(text: str, tag: str) -> None:
    """The commonest words of three more."""
    assert tag in infer_query_tags(text)


@given(st.text(max_size=300))
def test_tags_are_the_vocabulary_s_in_its_order(text: str) -> None:
    """Each once; the `vb:` tags are those that `infer_vb_tags` gives."""
    tags = infer_query_tags(text)
    assert list(tags) == [tag for tag in VOCABULARY if tag in tags]
    assert of_family(tags, "vb") == infer_vb_tags(text)


@given(st.text(alphabet=st.characters(codec="ascii"), max_size=100))
def test_case_does_not_matter(text: str) -> None:
    """Shouting asks for the same."""
    assert infer_query_tags(text.upper()) == infer_query_tags(text.lower())


def test_a_memory_has_its_own_tags_and_those_of_its_words() -> None:
    """Each once, known ones first, written ones in lower case."""
    assert memory_tags("I slept badly, so I rest", ["Garden", "vb:rest", " "]) == ("vb:rest", "garden")


@pytest.mark.parametrize(("tag", "name"), [("vb:rest", "vb"), ("garden", ""), ("a:b:c", "a")])
def test_a_tag_has_a_family(tag: str, name: str) -> None:
    """What stands before the first colon, if there is one."""
    assert family(tag) == name


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        pytest.param("#rest", "vb:rest", id="a hashtag of the vocabulary"),
        pytest.param("keep this one #vb:play!", "vb:play", id="a whole tag"),
        pytest.param("good #Kitchen", "kitchen", id="a hashtag of one's own"),
        pytest.param("see [a.pdf#3] and issue #12", None, id="neither a citation nor a number"),
        pytest.param("That was too long.", "format:skeleton", id="too long"),
        pytest.param("more detail please", "format:prose", id="too short"),
        pytest.param("as a list please", "format:skeleton", id="a form"),
        pytest.param("no bullet points", "format:prose", id="a form refused"),
        pytest.param("be honest with me", "vb:honesty", id="a value"),
        pytest.param("thanks!", None, id="nothing asked for"),
        pytest.param("", None, id="nothing said"),
    ],
)
def test_a_tag_is_taken_from_what_is_said_next(text: str, tag: str | None) -> None:
    """Hashtags first, then complaints, forms and values."""
    assert extract_tag_from_message(text) == tag


@given(st.text(max_size=300))
def test_a_tag_stands_on_one_line(text: str) -> None:
    """It is short, and holds no white space and no brackets."""
    tag = extract_tag_from_message("#" + text) or ""
    assert len(tag) <= 60
    assert not set(tag) & set(" \n\t[]#")
