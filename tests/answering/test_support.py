"""The spans of an answer, and how well its passages carry what it says."""

import re
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.answer import Span, Support
from app.answering.citations import CitationFilter
from app.answering.support import Spans, support

REVENUE = (
    "Acme Corporation reported revenue of $4,215 million for fiscal 2023, an increase of 12.4% over the prior"
    " year. Operating costs did not rise. Growth came mainly from cloud services in Europe, said Jane Miller."
)
PACKED = {
    "a.pdf#1": REVENUE,
    "b.pdf#2": "The board of Acme approved a dividend of 50 cents. Its payment is planned for June.",
    "My. Notes.pdf#7": "Nothing else is known about the merger.",
}


def spans(deltas: Sequence[str], packed: Mapping[str, str] = PACKED) -> tuple[str, tuple[Span, ...]]:
    """The text as it leaves, and its spans."""
    one, found = CitationFilter(packed), Spans(packed)
    text = ""
    for delta in deltas:
        text += (sent := one.feed(delta))
        found.feed(sent, one.marks)
    text += (sent := one.end())
    found.feed(sent, one.marks)
    found.end(one.marks)
    return text, found.told(text, one.marks, one.cited)


PIECES = st.sampled_from(
    ["[a.pdf#1]", "[b.pdf#2]", "[My. Notes.pdf#7]", "[a.pdf#1, b.pdf#2]", "【b.pdf#2†source】", "[bad.pdf#9]",
     "[", "]", "[Source: a.pdf#1](http://x)", "`[a.pdf#1]`", "[x[bad.pdf#9].pdf#3]", "[a.pdf#1, page 3]", "`",
     "\n", "\n\n", "```\n", "    ", "Revenue rose. ", "so it is", ". ", "“It is said so.” ", "\\", "é",
     "\U0001f600", " ", "y" * 150]
)  # fmt: skip
MARKUP = st.lists(PIECES, max_size=24).map("".join)


def split(text: str, places: Sequence[int]) -> list[str]:
    cuts = sorted({place % (len(text) + 1) for place in places})
    return [text[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(text)], strict=True)]


@given(MARKUP, st.lists(st.integers(0, 5_000), max_size=12))
def test_each_span_is_the_mark_of_its_label(text: str, places: list[int]) -> None:
    """However the stream is cut: in a link's text and in inline code, which pass as written, it names it."""
    sent, found = spans(split(text, places))
    assert (sent, found) == spans([text])
    assert [span.start for span in found] == sorted(span.start for span in found)
    for span in found:
        mark, whole = sent[span.start : span.end], f"[{span.label}]"
        as_written = sent[span.end : span.end + 1] in ("(", "`") or "`" in sent[: span.start]
        assert mark == whole or (
            as_written and re.fullmatch(rf"\[[^\[\]]*{re.escape(span.label)}[^\[\]]*\]", mark)
        )
    numbers = dict.fromkeys(span.label for span in found)
    assert all(span.n == list(numbers).index(span.label) + 1 for span in found)


@pytest.mark.parametrize(
    ("said", "marks"),
    [
        pytest.param("So [a.pdf#1]; but [b.pdf#2], and [a.pdf#1].",
                     [("[a.pdf#1]", 1), ("[b.pdf#2]", 2), ("[a.pdf#1]", 1)], id="numbered by label"),
        pytest.param("So [b.pdf#2, a.pdf#1].", [("[b.pdf#2]", 1), ("[a.pdf#1]", 2)], id="a group"),
        pytest.param("So 【A.PDF#1】.", [("[a.pdf#1]", 1)], id="other brackets and case"),
        pytest.param("So [bad.pdf#9] it is [a.pdf#1].", [("[a.pdf#1]", 1)], id="behind an unknown one"),
        pytest.param("So \U0001f600 [a.pdf#1].", [("[a.pdf#1]", 1)], id="code points"),
        pytest.param("See [Source: a.pdf#1](http://x).", [("[Source: a.pdf#1]", 1)], id="a link's text"),
        pytest.param("See `[a.pdf#1]`.", [("[a.pdf#1]", 1)], id="inline code"),
        pytest.param("Run:\n```\n[a.pdf#1]\n```\n", [], id="a fence"),
    ],
)  # fmt: skip
def test_spans_number_the_labels(said: str, marks: list[tuple[str, int]]) -> None:
    text, found = spans([said])
    assert [(text[span.start : span.end], span.n) for span in found] == marks


def test_halves_of_a_pair_count_as_the_one_character_that_a_client_makes_of_them() -> None:
    text, [span] = spans(["So \ud83d", "\ude00 [a.pdf#1]."])
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    assert joined[span.start : span.end] == "[a.pdf#1]"


@pytest.mark.parametrize(
    ("said", "quotes"),
    [
        pytest.param("“Costs did not rise.” [a.pdf#1]", ["Costs did not rise."], id="a sentence"),
        pytest.param("“He said “no rise” then.” [a.pdf#1]", ["He said “no rise” then."], id="quotes within"),
        pytest.param("“no rise at all,” he said.” [a.pdf#1]", ["no rise at all,” he said."], id="torn"),
        pytest.param("“A is it.” [a.pdf#1]\n\n“B is it.” [b.pdf#2]", ["A is it.", "B is it."], id="two"),
        pytest.param("“So it is.” [a.pdf#1] [b.pdf#2]", ["So it is."] * 2, id="two citations"),
        pytest.param("„So ist es eben.“ [a.pdf#1]", ["So ist es eben."], id="German"),
        pytest.param('Costs "did not rise" [a.pdf#1].', ["did not rise"], id="straight, part of a sentence"),
        pytest.param("The “CEO” [a.pdf#1] left.", [None], id="a word in quotation marks"),
        pytest.param("“So it is”, and that is why costs rose [a.pdf#1].", [None], id="elsewhere"),
        pytest.param("Costs rose.” [a.pdf#1]", [None], id="never opened"),
    ],
)  # fmt: skip
def test_a_quote_is_what_the_citation_stands_behind(said: str, quotes: list[str | None]) -> None:
    assert [span.quote for span in spans([said])[1]] == quotes


@pytest.mark.parametrize(
    ("sentence", "found"),
    [
        pytest.param("GROWTH came mainly from\ncloud services", Support.STRONG, id="case, lines"),
        pytest.param("Acme Corporation reported revenue … Growth came mainly", Support.STRONG, id="a gap"),
        pytest.param("… mainly from cloud services in Europe …", Support.STRONG, id="a piece of a sentence"),
        pytest.param("Growth came mainly from cloud services in Asia.", Support.UNCHECKED, id="another word"),
        pytest.param("Acme reported revenue of $4,512 million", Support.UNCHECKED, id="another figure"),
        pytest.param("", Support.UNCHECKED, id="empty"),
        pytest.param("Europe.", Support.UNCHECKED, id="one word"),
        pytest.param("…!", Support.UNCHECKED, id="no word"),
        pytest.param("word " * 100_000, Support.UNCHECKED, id="huge"),
    ],
)
def test_word_for_word_is_strong(sentence: str, found: Support) -> None:
    assert support(sentence, REVENUE) is found


def test_a_copy_in_a_script_without_spaces_is_strong() -> None:
    passage = "公司二零二三年的收入增长了百分之十二。这主要来自云服务。"
    assert support("这主要来自云服务。", passage) is Support.STRONG
    assert support("这主要来自软件服务。", passage) is Support.UNCHECKED


def test_each_citation_is_judged_against_its_own_passage() -> None:
    said = (
        "Operating costs did not rise [a.pdf#1]. The board of Acme approved a dividend [a.pdf#1] [b.pdf#2]."
    )
    assert [span.support for span in spans([said])[1]] == [Support.STRONG, Support.UNCHECKED, Support.STRONG]


@pytest.mark.parametrize(
    "said", ["- Operating costs did not rise [a.pdf#1]", "Operating costs did not rise. [a.pdf#1] So?"]
)
def test_the_sentence_is_what_a_reader_takes_for_it(said: str) -> None:
    assert spans([said])[1][0].support is Support.STRONG


def test_only_what_is_word_for_word_is_told() -> None:
    """The judgement of paraphrases is below its bar."""
    said = "Operating costs did not rise [a.pdf#1]. Costs rose [a.pdf#1]. Penguins breed in winter [a.pdf#1]."
    found = [span.support for span in spans([said])[1]]
    assert found == [Support.STRONG, Support.UNCHECKED, Support.UNCHECKED]


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_text_is_judged(sentence: str, passage: str) -> None:
    assert support(sentence, passage) in Support
