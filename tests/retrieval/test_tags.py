"""Tags of a text, their weights, desire and gravity; what else speaks for a passage than its relevance."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.db.memories import DESIRE, GRAVITY, Memory, Tally
from app.db.votes import OwnMessage
from app.retrieval.ranking import Wants, corpus_tags, score_corpus_hit, score_personal_hit
from app.retrieval.tags import (
    HALF_LIFE_DAYS,
    VOCABULARY,
    Gravity,
    card_weights,
    decay,
    extract_tag_from_message,
    gravity_note,
    infer_query_tags,
    infer_vb_tags,
    memory_tags,
    misalignment,
    of_family,
    vb_desire_bias_map,
)
from app.types import Candidate, Passage

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
    assert tag in infer_query_tags(text)


@given(st.text(max_size=300))
def test_tags_are_the_vocabulary_s_in_its_order(text: str) -> None:
    """Each once; the `vb:` tags are those that `infer_vb_tags` gives."""
    tags = infer_query_tags(text)
    assert list(tags) == [tag for tag in VOCABULARY if tag in tags]
    assert of_family(tags, "vb") == infer_vb_tags(text)


def test_a_memory_has_its_own_tags_and_those_of_its_words() -> None:
    """Each once, known ones first, written ones in lower case."""
    assert memory_tags("I slept badly, so I rest", ["Garden", "vb:rest", " "]) == ("vb:rest", "garden")


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


WHEN = datetime(2026, 1, 2, tzinfo=UTC)


def card(weights: dict[str, float], *, kind: str = DESIRE, at: datetime = WHEN) -> Memory:
    return Memory("a", "u", "t", 1, at, kind=kind, fields={"weights": weights})


@given(
    st.dictionaries(
        st.sampled_from(["vb:rest", "vb:play", "vb:x"]), st.floats(allow_nan=False, allow_infinity=False)
    )
)
def test_a_bias_is_bounded(weights: dict[str, float]) -> None:
    """In [-1, 1], for any card that an older tool wrote."""
    assert all(-1 <= value <= 1 for value in vb_desire_bias_map(card(weights)).values())


TAGS = st.lists(st.sampled_from([*VOCABULARY, "garden"]), unique=True, max_size=6)


HOME = {"vb:rest": 0.6, "vb:play": 0.2, "topic:workout": 0.3}


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        pytest.param(["vb:rest"], 0.0, id="the heaviest is at home"),
        pytest.param(["vb:play"], 0.5, id="half the mean of its family is half at home"),
        pytest.param(["vb:order"], 1.0, id="never said"),
        pytest.param(["vb:rest", "vb:order"], 0.5, id="the mean of its tags"),
        pytest.param(["topic:workout"], 0.0, id="each family by itself"),
        pytest.param(["intent:compare"], 1.0, id="a family never touched"),
        pytest.param([], 0.0, id="no tags"),
    ],
)
def test_misalignment(tags: list[str], expected: float) -> None:
    """1 minus how much the tags are at home."""
    assert misalignment(tags, HOME) == pytest.approx(expected)


@given(TAGS, st.dictionaries(st.sampled_from(VOCABULARY), st.floats(0.01, 1), min_size=1, max_size=8))
def test_a_tag_from_home_never_adds_to_it(tags: list[str], weights: dict[str, float]) -> None:
    """The heaviest tag of the card, asked for too, brings the question nearer."""
    heaviest = max(weights, key=lambda tag: weights[tag])
    if tags and heaviest not in tags:
        assert misalignment([*tags, heaviest], weights) <= misalignment(tags, weights) + 1e-9


def test_the_note_names_what_is_usual() -> None:
    """The heaviest tags, and how far it is, on one line."""
    note = gravity_note(Gravity(0.6, "drifting"), HOME)
    assert note.startswith("[gravity-note] ")
    assert '"vb:rest", "topic:workout", "vb:play"' in note
    assert "0.60" in note
    assert "\n" not in note


NOW = datetime(2026, 5, 1, tzinfo=UTC)


def card_of(kind: str = GRAVITY, *, at: datetime = NOW, name: str = "c", **fields: object) -> Memory:
    return Memory(name, "u", "text", 1, at, kind=kind, fields=fields)


def said(*messages: tuple[str, float]) -> list[OwnMessage]:
    return [OwnMessage(text, NOW - timedelta(days=age)) for text, age in messages]


def test_a_message_counts_half_after_thirty_days() -> None:
    assert decay(NOW - timedelta(days=HALF_LIFE_DAYS), NOW) == 0.5
    assert decay(NOW - timedelta(days=2 * HALF_LIFE_DAYS), NOW) == 0.25


@pytest.mark.parametrize(
    ("fields", "weights"),
    [
        pytest.param({"weights": {"vb:rest": 0.5, "odd": -2}}, {"vb:rest": 0.5, "odd": -2.0}, id="numbers"),
        pytest.param({"weights": {"a": True, "b": "1", "c": None}}, {}, id="no numbers"),
        pytest.param({"weights": {"a": float("nan"), "b": float("inf"), "c": 10**400}}, {}, id="not finite"),
        pytest.param({"weights": ["a"]}, {}, id="no mapping"),
        pytest.param({}, {}, id="no weights"),
    ],
)
def test_a_card_s_weights_are_read(fields: dict[str, object], weights: dict[str, float]) -> None:
    """Finite numbers; whatever else an older tool wrote is passed over."""
    assert card_weights(replace(card_of(), fields=fields)) == weights


RELEVANCE = st.floats(0, 1)
VOTES = st.integers(0, 10**6)
ANY = st.floats(allow_nan=False, allow_infinity=False)
ANY_WEIGHTS = st.dictionaries(st.sampled_from([*VOCABULARY, "garden"]), ANY, max_size=6)
WANTS = st.builds(Wants, TAGS.map(tuple), ANY_WEIGHTS, ANY_WEIGHTS)
TALLIES = st.builds(Tally, VOTES, VOTES)
SLACK = 1e-12


def hit(relevance: float) -> Candidate:
    return Candidate(Passage("memories", "m", "text", 1, "memory#m", score=relevance))


@given(RELEVANCE, TAGS, TALLIES, WANTS)
def test_no_factor_leaves_ten_percent(relevance: float, tags: list[str], tally: Tally, wants: Wants) -> None:
    """Whatever was voted, asked for or written on a card."""
    found = score_personal_hit(hit(relevance), tags, tally, wants)
    assert list(found.boosts) == ["feedback", "format", "vb_desire", "gravity"]
    assert all(0.9 - SLACK <= factor <= 1.1 + SLACK for factor in found.boosts.values())


@pytest.mark.parametrize(
    ("tags", "asked", "factor"),
    [
        pytest.param(["format:skeleton"], ("format:skeleton",), 1.05, id="the form asked for"),
        pytest.param(["format:prose"], ("format:skeleton",), 0.95, id="another form"),
        pytest.param(["vb:rest"], ("format:skeleton",), 1.0, id="no form"),
        pytest.param(["format:prose"], ("vb:rest",), 1.0, id="none asked for"),
    ],
)
def test_the_form(tags: list[str], asked: tuple[str, ...], factor: float) -> None:
    """Half of what votes can do."""
    assert score_personal_hit(hit(1.0), tags, Tally(), Wants(asked)).boosts["format"] == pytest.approx(factor)


@pytest.mark.parametrize(
    ("tags", "factor"),
    [
        pytest.param(["vb:rest"], 1.1, id="what is wanted most"),
        pytest.param(["vb:rest", "vb:order"], 1.05, id="half of it"),
        pytest.param(["vb:play"], 0.95, id="what is not wanted"),
        pytest.param(["intent:explain"], 1.0, id="no value"),
    ],
)
def test_the_values_wanted(tags: list[str], factor: float) -> None:
    """By the mean bias of the memory's values."""
    wants = Wants(desire={"vb:rest": 1.0, "vb:play": -0.5})
    assert score_personal_hit(hit(1.0), tags, Tally(), wants).boosts["vb_desire"] == pytest.approx(factor)


@pytest.mark.parametrize(
    ("tags", "factor"),
    [
        pytest.param(["vb:rest"], 1.1, id="at home"),
        pytest.param(["vb:order"], 0.9, id="elsewhere"),
        pytest.param(["vb:rest", "vb:order"], 1.0, id="half and half"),
        pytest.param(["garden"], 1.0, id="a tag that says nothing about it"),
        pytest.param([], 1.0, id="no tags"),
    ],
)
def test_the_pull_of_gravity(tags: list[str], factor: float) -> None:
    """A bonus for what lies where the person usually turns, a penalty for what does not."""
    wants = Wants(gravity={"vb:rest": 0.5})
    assert score_personal_hit(hit(1.0), tags, Tally(), wants).boosts["gravity"] == pytest.approx(factor)


@given(RELEVANCE, RELEVANCE, TAGS, TALLIES, WANTS)
def test_the_better_of_two_alike_stays_better(
    one: float, other: float, tags: list[str], tally: Tally, wants: Wants
) -> None:
    """Boosts of the same tags and votes never turn an order round."""
    low, high = sorted((one, other))
    assert (
        score_personal_hit(hit(low), tags, tally, wants).score
        <= score_personal_hit(hit(high), tags, tally, wants).score
    )


@given(RELEVANCE, TAGS, TAGS)
def test_a_reference_text_gains_at_most_ten_percent(
    relevance: float, tags: list[str], wanted: list[str]
) -> None:
    found = score_corpus_hit(hit(relevance), tags, wanted)
    assert 1 <= found.boosts["tags"] <= 1.1 + SLACK
    assert found.score == relevance * found.boosts["tags"]


def test_a_reference_text_gains_by_the_share_of_what_is_asked() -> None:
    """Form, tone and intent count; values are the person's."""
    asked = corpus_tags(["format:prose", "intent:explain", "vb:rest"])
    assert asked == ("format:prose", "intent:explain")
    assert score_corpus_hit(hit(1.0), ["intent:explain", "vb:rest"], asked).boosts["tags"] == pytest.approx(
        1.05
    )
