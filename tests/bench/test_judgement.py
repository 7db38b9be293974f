"""The judgement of paraphrases that `bench.support` measures."""

import pytest

from app.answer import Support
from bench.judgement import support

REVENUE = (
    "Acme Corporation reported revenue of $4,215 million for fiscal 2023, an increase of 12.4% over the prior"
    " year. Operating costs did not rise. Growth came mainly from cloud services in Europe, said Jane Miller."
)
COPY = "Growth came mainly from cloud services in Europe, said Jane Miller."
CHINESE = "公司二零二三年的收入增长了百分之十二。这主要来自云服务。运营成本没有上升。"
ARABIC = "ارتفعت إيرادات الشركة في عام 2023 بنسبة اثني عشر بالمئة. لم ترتفع التكاليف."


@pytest.mark.parametrize(
    ("sentence", "passage", "found"),
    [
        pytest.param(COPY, REVENUE, {Support.STRONG}, id="verbatim"),
        pytest.param("GROWTH came mainly from\ncloud services", REVENUE, {Support.STRONG}, id="case, lines"),
        pytest.param("Acme Corporation reported revenue of $4.215 billion for fiscal 2023", REVENUE,
                     {Support.STRONG}, id="another unit"),
        pytest.param("Revenue of $4,215 million was reported for fiscal 2023, an increase of 12%", REVENUE,
                     {Support.STRONG}, id="paraphrase, rounded"),
        pytest.param("Acme Corporation reported revenue of $4,512 million for fiscal 2023", REVENUE,
                     {Support.WEAK}, id="wrong figure"),
        pytest.param("Growth came mainly from cloud services in Europe, said Paul Smith.", REVENUE,
                     {Support.WEAK}, id="wrong name"),
        pytest.param("Growth did not come mainly from cloud services in Europe, said Jane Miller.", REVENUE,
                     {Support.WEAK}, id="negated"),
        pytest.param("Operating costs did rise.", REVENUE, {Support.WEAK}, id="negation dropped"),
        pytest.param("Penguins breed on the coldest continent during winter.", REVENUE, {Support.NONE},
                     id="other topic"),
        pytest.param("Der Umsatz ist gestiegen, und die Kosten sind nicht gestiegen.", REVENUE,
                     {Support.UNCHECKED}, id="another language"),
        pytest.param("收入增长了百分之十二", REVENUE, {Support.UNCHECKED}, id="another script"),
        pytest.param("", REVENUE, {Support.UNCHECKED}, id="empty"),
        pytest.param("Europe.", REVENUE, {Support.UNCHECKED}, id="one word"),
        pytest.param("…!", REVENUE, {Support.UNCHECKED}, id="no word"),
        pytest.param("Penguins breed in winter.", "", {Support.NONE, Support.UNCHECKED}, id="empty passage"),
        pytest.param("word " * 100_000, REVENUE, {Support.UNCHECKED}, id="huge sentence"),
        pytest.param("Penguins breed in winter.", "word " * 10**6, {Support.UNCHECKED}, id="huge passage"),
        pytest.param("这主要来自云服务。", CHINESE, {Support.STRONG}, id="verbatim Chinese"),
        pytest.param("运营成本上升了百分之五十。", CHINESE, {Support.WEAK}, id="wrong Chinese"),
        pytest.param("لم ترتفع التكاليف", ARABIC, {Support.STRONG}, id="verbatim Arabic"),
    ],
)  # fmt: skip
def test_support(sentence: str, passage: str, found: set[Support]) -> None:
    assert support(sentence, passage) in found


def test_a_sentence_that_needs_both_passages_is_weak_at_least() -> None:
    one = "Lisbon was rebuilt after the earthquake by order of the marquis."
    other = "Its tram lines carry tourists up the seven hills every day."
    sentence = "Rebuilt by order, its tram lines carry tourists."
    alone = {support(sentence, each) for each in (one, other)}
    both = {support(sentence, each, (one, other)) for each in (one, other)}
    assert Support.NONE not in both, alone
