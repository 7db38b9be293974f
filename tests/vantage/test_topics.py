"""Topics that an asker set, looked up in a message."""

import pytest

from app.vantage.topics import has_word, named, terms


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
