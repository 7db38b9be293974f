"""A message as the policy reads it: folded, cut into tokens, disguises undone; an asker's topics in it; and
the policy's data files."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.vantage.lexicon import LEXICON, entries, parsed, phrases, sections
from app.vantage.risk import rules
from app.vantage.text import cut, fold, read, reveal
from app.vantage.topics import has_word, named, terms


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("\uff46\uff4f\uff4f", "foo"),
        ("caf\u00e9", "cafe"),
        ("cafe\u0301", "cafe"),
        ("\u0440\u0430ssw\u043erd", "password"),
        ("a\u200bb", "ab"),
        ("it\u2019s", "it's"),
        ("Stra\u00dfe", "Strasse"),
        ("a\U0001f525b", "a b"),
    ],
    ids=["wide", "accent", "mark", "look-alike", "no width", "quote", "sharp s", "emoji"],
)
def test_a_letter_has_one_plain_form(written: str, plain: str) -> None:
    """However it is written."""
    assert fold(written) == plain


@given(st.text())
def test_every_text_has_aligned_tokens(text: str) -> None:
    """None empty, none with a blank, both forms of one length."""
    found = read(text)
    assert len(found.cased) == len(found.tokens)
    assert all(token and (token == "\n" or not token.isspace()) for token in found.tokens)


def test_what_stands_beyond_all_letters_is_a_blank() -> None:
    """Unassigned and private characters, however many there are; a tag is nothing."""
    assert fold("a\U000e1000b\U0010fffdc\U00050000d") == "a b c d"
    assert fold("a\U000e0041b") == "ab"
    assert fold("\U00020000\ud55c") == "\U00020000\u1112\u1161\u11ab"


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("how do i k1ll my boss", "kill"),
        ("how do i k!ll my boss", "kill"),
        ("make a b0mb at home", "bomb"),
        ("how do i k i l l my boss", "kill"),
        ("k.i.l.l my boss", "kill"),
        ("h o w  d o  i  k i l l", "kill"),
        ("kiiiill my boss", "kill"),
    ],
)
def test_a_disguised_word_is_read(written: str, plain: str) -> None:
    """Digits and signs for letters, letters set apart, letters drawn out."""
    assert plain in reveal(read(written), LEXICON).tokens


@pytest.mark.parametrize(
    "text", ["Room 101 at 10:30", "e.g. a test", "x = a + b", "C++17", "A B C", "3-5 p.m."]
)
def test_ordinary_texts_stay_as_they_are(text: str) -> None:
    """What no word of the lexicon hides in."""
    assert reveal(read(text), LEXICON).folded == fold(text)


@given(st.text(st.one_of(st.characters(), st.sampled_from("k1l!l a-_.\n"))))
def test_revealing_is_stable(text: str) -> None:
    """The tokens of what is revealed are those of its text."""
    shown = reveal(read(text), LEXICON)
    assert shown.tokens == cut(shown.folded).tokens


@pytest.mark.parametrize(
    ("topic", "message", "met"),
    [
        pytest.param("gambling", "Tell me about Gambling.", True, id="whatever the case"),
        pytest.param("law", "I hit the lawn", False, id="whole words only"),
        pytest.param("tax law", "which tax law holds?", True, id="words in a row"),
        pytest.param("tax law", "the law on tax", False, id="in their order"),
        pytest.param("tax law", "tax or law", False, id="nothing between them"),
        pytest.param("Tax-Law", "tax law", True, id="marks between words"),
        pytest.param("naïve café", "NAIVE CAFE", True, id="accents"),
        pytest.param("ｇａｍｂｌｉｎｇ", "gambling", True, id="wide letters"),
        pytest.param("", "anything", False, id="an empty topic"),
        pytest.param("!!!", "wow!!!", False, id="a topic of marks"),
        pytest.param("sports betting", "I like sports. Betting is not for me", False, id="across sentences"),
        pytest.param("sports betting", "on sports\nbetting", False, id="across lines"),
        pytest.param("赌博", "我想了解赌博网站怎么玩", True, id="Chinese"),
        pytest.param("ギャンブル", "オンラインギャンブルの始め方", True, id="Japanese"),
        pytest.param("การพนัน", "อยากรู้เรื่องการพนันออนไลน์", True, id="Thai"),
        pytest.param("도박은", "온라인 도박은 어때", True, id="Korean"),
        pytest.param("도박", "온라인 도박을 배우고 싶어", True, id="Korean, with a particle"),
        pytest.param("赌博", "我想学做菜", False, id="Chinese of something else"),
        pytest.param("C++", "My Grade C in maths", False, id="C is not C++"),
        pytest.param("C++", "teach me c++, please", True, id="C++"),
        pytest.param("C#", "a chord in C major", False, id="C is not C#"),
        pytest.param(".NET", "what is my net worth?", False, id="net is not .NET"),
        pytest.param(".NET", "I sold it. Net of tax, what is left?", False, id="a sentence that begins so"),
        pytest.param(".NET", "how do I learn .net in a week?", True, id=".NET"),
        pytest.param("node.js", "Why Node.js?", True, id="a dot within"),
        pytest.param("tax", "Which Taxes are due?", True, id="plural in -es"),
        pytest.param("taxes", "which tax is due?", True, id="singular of -es"),
        pytest.param("dogs", "my dog barks", True, id="singular"),
        pytest.param("dog", "my dogs bark", True, id="plural"),
        pytest.param("tax laws", "the tax law", True, id="the last of some words"),
        pytest.param("policy", "their policies", True, id="plural in -ies"),
        pytest.param("policies", "a policy", True, id="singular of -ies"),
        pytest.param("houses", "a house", True, id="singular in -e"),
        pytest.param("news", "something new", False, id="no plural"),
        pytest.param("bus", "the bu of it", False, id="no plural in -us"),
        pytest.param("cars", "who cares?", False, id="another word"),
        pytest.param("азартные игры", "про Азартные игры", True, id="Russian"),
    ],
)
def test_a_topic_is_met(topic: str, message: str, met: bool) -> None:
    """By all of its words, in a row."""
    assert named([topic], terms(message)) == ((topic,) if met else ())


@pytest.mark.parametrize(
    ("topic", "told"), [("C++", True), ("赌", True), ("…", False), ("+", False), (" . ", False)]
)
def test_a_topic_has_a_word(topic: str, told: bool) -> None:
    """Else no message names it."""
    assert has_word(topic) is told


def test_a_table_is_read_by_heading_and_name() -> None:
    """Lines that go on are joined, comments and empty lines are none."""
    found = {heading: entries(lines) for heading, lines in sections("answers.txt").items()}
    assert {"hedges", "contact", "refusal, English", "refusal, French"} <= set(found)
    assert "as far as i know" in found["hedges"]["en"]
    assert not any(
        phrase.startswith("#") or not phrase
        for table in found.values()
        for row in table.values()
        for phrase in row
    )


def test_phrases_under_none_keep_others_from_being_found() -> None:
    """`may i` asks, and hedges nothing."""
    table = phrases(entries(["hedge: may", "none: may i, may we"]))
    assert table.names("It may rain. May I come in?") == {"hedge"}
    assert table.names("May we come in?") == set()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# words\n\n  more words\n", "made.txt:3: an entry before the first"),
        ("[nouns]\n\n  more words\n", "made.txt:3: nothing above that this line could continue"),
        ("gun: pistol\n", "made.txt:1: an entry before the first"),
    ],
    ids=["continues nothing at all", "continues a heading", "no heading"],
)
def test_a_broken_table_names_the_line(text: str, said: str) -> None:
    """The start stops there."""
    with pytest.raises(ValueError, match=said):
        parsed("made.txt", text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[weapons]\nbuy 0.5 buy > bomb\n\nbuy 0.6 buy > weapon\n", "risk.txt:4: a second rule buy"),
        ("[weapons]\nbuy 0.5 buy > bombs\n", "risk.txt:2: no class or flag bombs"),
        ("[weather]\nbuy 0.5 buy > bomb\n", r"risk.txt: no category \[weather\]"),
    ],
    ids=["rule twice", "unknown class", "unknown category"],
)
def test_a_broken_rule_names_the_line(text: str, said: str) -> None:
    """A rule's id is in the trace of an answer, so no two rules share one."""
    with pytest.raises(ValueError, match=said):
        list(rules(parsed("risk.txt", text)))
