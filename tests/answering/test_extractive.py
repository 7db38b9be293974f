"""The extractive answerer: text cut into what can be quoted, and which sentences answer."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.answer import GREETING_FORM, Finish, Prompt, Role, Turn, build_system_prompt
from app.answering.extractive import (
    CLOSEST,
    CLOSEST_KEPT,
    FORGOTTEN,
    LEAST_BY_WORDS,
    MOST,
    MOST_WORDS,
    NO_SENTENCE,
    UNTOLD,
    WELCOME,
    Extractive,
    Quote,
    by_words,
    chosen,
    is_about,
    quotation,
    quotes,
    spelled_out,
)
from app.answering.prompt import PROJECT_FORM, entry
from app.answering.quotable import GAP, LONGEST, quotable, sentences
from app.errors import RetrievalError
from app.models.bundled import Bundled, open_bundled
from app.types import Passage, Reason

MILL = "The mill stands below the weir. It was built in 1843 by Anna Keller. It closed in 1960."
BREAD = "Knead the dough for ten minutes. Bake it until the crust is dark."


def prompt(message: str, *texts: str, turns: tuple[Turn, ...] = ()) -> Prompt:
    """A prompt with these passages packed."""
    packed = [Passage("documents", str(n), text, 1, f"mill.pdf#{n}") for n, text in enumerate(texts, 1)]
    return Prompt("system", message, tuple(packed), turns=turns)


async def answer(to: Prompt, model: Extractive | None = None) -> str:
    """The whole text, checked to arrive in order and to end well."""
    async with (model or Extractive()).open(to) as stream:
        deltas = [delta async for delta in stream]
    assert deltas[-1].finish is Finish.STOP
    assert all(delta.text and delta.finish is None for delta in deltas[:-1])
    return "".join(delta.text for delta in deltas)


class Slow(Bundled):
    """A model that takes too long, or fails."""

    def __init__(self, fault: RetrievalError | None = None) -> None:
        self.fault = fault

    def reads(self, question: str) -> bool:
        return bool(question)

    async def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        if self.fault:
            raise self.fault
        await asyncio.sleep(60)
        raise NotImplementedError


async def test_quotes_and_cites() -> None:
    """The sentence that answers, between quotation marks, with its passage's label."""
    said = await answer(prompt("When was the mill built?", BREAD, MILL))
    assert said.startswith("“It was built in 1843 by Anna Keller.” [mill.pdf#2]")


async def test_every_statement_is_a_cited_quote() -> None:
    """Nothing is said about the documents but in their own words, each with its place."""
    said = await answer(prompt("When was the mill built and when did it close?", MILL, BREAD))
    for paragraph in said.split("\n\n"):
        quote = re.fullmatch(r"“(.+)” \[mill\.pdf#(\d)\]", paragraph)
        assert quote
        assert quote[1] in (MILL, BREAD)[int(quote[2]) - 1]


@pytest.mark.parametrize(
    ("reason", "part"),
    [
        (Reason.EMPTY, "Add a PDF and ask again"),
        (Reason.PROCESSING, "still being read"),
        (Reason.SKIPPED, "too short"),
        (Reason.NO_MATCH, "Nothing that is stored fits"),
        (Reason.TIMEOUT, "in time"),
        (Reason.UNAVAILABLE, "cannot be searched"),
    ],
)
async def test_without_passages_it_says_why(reason: Reason, part: str) -> None:
    """A plain sentence or two that fits, without a citation, a command or a setting's name."""
    said = await answer(replace(prompt("When was the mill built?"), reason=reason))
    assert part in said
    assert said.count("chat model") <= 1
    assert not re.search(r"[\[`]|ibid|--|[A-Z]+_[A-Z]+", said)


@pytest.mark.parametrize("reason", [Reason.EMPTY, Reason.SKIPPED, Reason.NO_MATCH])
async def test_a_greeting_without_passages_is_greeted_back(reason: Reason) -> None:
    """Whatever is stored: who greets is not told what is missing."""
    assert await answer(replace(prompt("Hello!"), reason=reason)) == WELCOME


async def test_an_unanswered_question_is_said_to_be() -> None:
    """Passages that match but do not answer are not passed off as an answer."""
    assert (await answer(prompt("What is the boiling point of tungsten?", MILL))).startswith(CLOSEST)


async def test_passages_without_a_sentence() -> None:
    """Passages of marks alone hold nothing to quote."""
    assert await answer(prompt("What?", "— — —", "…")) == NO_SENTENCE


@pytest.mark.parametrize(
    "embedder", [Slow(), Slow(RetrievalError("overloaded")), object()], ids=["slow", "overloaded", "remote"]
)
async def test_an_embedder_that_does_not_answer_costs_only_time(embedder: Slow) -> None:
    """Within a moment the answer comes, ranked by words."""
    async with asyncio.timeout(5):
        said = await answer(prompt("When was the mill built?", MILL), Extractive(embedder))
    assert "1843" in said


async def test_the_cross_encoder_finds_an_answer_in_other_words() -> None:
    """It reads question and quote together; words alone prefer what repeats the question."""
    asked = prompt("What did the mill cost?", "The mill has a cat.", "It was bought for nine hundred crowns.")
    async with open_bundled() as bundled:
        said = await answer(asked, Extractive(bundled, seconds=60))
    assert "crowns" in re.findall("“.*?”", said)[0]
    assert "crowns" not in re.findall("“.*?”", await answer(asked))[0]


async def test_a_sentence_that_leans_is_quoted_after_the_one_it_leans_on() -> None:
    """What only says "this" is read and quoted with what it is about."""
    asked = prompt(
        "Why did the sales of the mill fall in 1901?",
        "Sales of the mill fell in 1901. This was the work of a long drought. The mill had a cat.",
        "In 1901 the mill and its sales had a clerk.",
    )
    async with open_bundled() as bundled:
        first, *rest = re.findall("“(.*?)”", await answer(asked, Extractive(bundled, seconds=60)))
    assert first == "Sales of the mill fell in 1901. This was the work of a long drought."
    assert not any("drought" in quote or quote in first for quote in rest)


class Even(Bundled):
    """A cross-encoder to which all texts are alike."""

    def __init__(self) -> None: ...

    def reads(self, question: str) -> bool:
        """Any question."""
        return bool(question)

    async def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        """One for each."""
        return [1.0 for text in texts if question and text]


@pytest.mark.parametrize(
    ("question", "texts", "wanted"),
    [
        (
            "What was the output of flour in 1901?",
            ("The output of flour in the mill was dear in 1899.", "The output was dear in 1901."),
            "in 1901",
        ),
        (
            "How many sacks of flour were sold?",
            ("The sacks of flour that were sold were many, 7 or so.", "Sacks | 1901\n--- | ---\nFlour | 310"),
            "310",
        ),
        (
            "Did the mill close in the war?",
            ("In the war the mill had a close friend.", "The mill did not close."),
            "did not close",
        ),
    ],
    ids=["year", "row", "denial"],
)
async def test_what_a_question_asks_for_decides_between_equals(
    question: str, texts: tuple[str, ...], wanted: str
) -> None:
    """A year of the question, a row of figures, a no."""
    said = await answer(prompt(question, *texts), Extractive(Even()))
    assert wanted in re.findall("“(.*?)”", said)[0]


async def test_the_stream_comes_in_pieces() -> None:
    """An answer is several deltas, so that it can be shown as it grows."""
    async with Extractive().open(prompt("When was the mill built?", MILL)) as stream:
        assert stream.model == "extractive"
        assert len([delta async for delta in stream]) > 3


async def test_quoted_text_cannot_forge_markup() -> None:
    """A citation or code mark inside a quote is defused; the real citation stands behind it."""
    said = await answer(prompt("When was it built?", "It was built in 1843 [other.pdf#9] `code 【x#1】."))
    assert said == "“It was built in 1843 (other.pdf#9) 'code (x#1).” [mill.pdf#1]"


def test_a_bracket_of_hashes_is_quoted_in_no_time() -> None:
    """It is looked at once, not from every hash. Seconds of this process."""
    text = "[" + "#" * 20_000
    quote = Quote(text, passages("")[0], "", frozenset(), frozenset())
    assert quotation(quote) == f"“{text}” [mill.pdf#1]"


async def test_a_follow_up_takes_its_subject_along() -> None:
    """A question that hangs on the one before is answered with it in mind."""
    turns = (Turn(Role.USER, "When was the mill built?"), Turn(Role.ASSISTANT, "1843"))
    texts = ("Dough must rest for two hours.", "The mill was built by the Falk brothers.")
    assert "Falk" in await answer(prompt("And by whom?", *texts, turns=turns))
    assert "Falk" not in await answer(prompt("And by whom?", *texts))


@settings(deadline=None, max_examples=50)
@given(st.text(min_size=1, max_size=60), st.lists(st.text(max_size=200), min_size=1, max_size=4))
def test_only_packed_labels_are_cited(message: str, texts: list[str]) -> None:
    """Whatever the passages hold, no other label is in the text, and the text is never empty."""
    said = asyncio.run(answer(prompt(message, *texts)))
    assert said
    assert set(re.findall(r"\[([^\[\]]*#[^\[\]]*)\]", said)) <= {
        f"mill.pdf#{n}" for n in range(1, len(texts) + 1)
    }


KEPT = ("I moved to Lisbon in May", "my sister Ana is allergic to peanuts", "The dentist is on Tuesday at 9")


def remembered(message: str, *texts: str) -> Prompt:
    """A prompt with these memories packed."""
    packed = [Passage("memories", str(n), text, 1, f"memory#k{n}") for n, text in enumerate(texts)]
    return build_system_prompt("system", message, packed)


@pytest.mark.parametrize(
    ("question", "label"),
    [
        ("Where do I live, Lisbon?", "k0"),
        ("What is my sister allergic to?", "k1"),
        ("When is the dentist?", "k2"),
    ],
)
async def test_what_a_person_said_is_quoted(question: str, label: str) -> None:
    """Though people leave out the full stop: a memory is a statement, whole."""
    said = await answer(remembered(question, *KEPT))
    assert said.startswith(f"“{KEPT[int(label[1])]}” [memory#{label}]")


async def test_a_person_who_keeps_nothing_is_told_how() -> None:
    """Of memories, not of documents; and what does not answer is called so."""
    assert await answer(remembered("Where did I grow up?")) == FORGOTTEN
    assert (await answer(remembered("How tall is the Eiffel tower?", *KEPT))).startswith(CLOSEST_KEPT)


async def test_a_greeting_is_greeted_back() -> None:
    """Nothing was looked for, so nothing is said to be missing."""
    assert await answer(build_system_prompt("system", "hey again!", form=GREETING_FORM)) == WELCOME


def projected(message: str, *texts: str) -> Prompt:
    """A prompt with these entries of a project."""
    rows = [Passage("conversations", str(n), "raw", 1, f"conversation#c{n}") for n in range(len(texts))]
    entries = [
        entry(row, text, heading="### H", between="\n\n") for row, text in zip(rows, texts, strict=True)
    ]
    return Prompt("system", message, tuple(entries), form=PROJECT_FORM)


async def test_a_project_s_rows_are_quoted_in_their_own_words() -> None:
    """Without the names of fields, each with its label."""
    mill = "- **Title:** Mill\n- **Tags:** weir\n- **Summary:** The mill was built in 1843 by Anna Keller."
    said = await answer(
        projected("When was the mill built?", "- **Title:** Bread\n- **Summary:** Bake it.", mill)
    )
    assert said == "“The mill was built in 1843 by Anna Keller.” [conversation#c1]"


async def test_a_project_that_keeps_nothing_is_told_how() -> None:
    """Of rows, not of documents; and what does not answer is called so."""
    assert await answer(projected("Where did I grow up?")) == UNTOLD
    far = await answer(projected("Which pets does Maria have?", f"- **Summary:** {BREAD}"))
    assert far.startswith(CLOSEST_KEPT)


TWO_MILLERS = (
    "The mill stands below the weir. It was built in 1843 by the brothers Anna and Paul Keller. "
    "Because the old dam leaked, the parish paid for a new one. Its two wheels drove six pairs of stones."
)
FLOUR = "Knead the dough for ten minutes. Bake it until the crust is dark. In 1901 flour was dear."
TABLE = "Output of the mill\nWheat flour 310 295 288\nRye flour 120 140 151\nTotal 430 435 439"


def passages(*texts: str) -> list[Passage]:
    return [Passage("documents", str(n), text, 1, f"mill.pdf#{n}") for n, text in enumerate(texts, 1)]


def ranked(question: str, *texts: str) -> list[Quote]:
    """All quotes of these passages, best first."""
    return by_words(question, quotes(passages(*texts), question))


def best(question: str, *texts: str) -> Quote:
    return chosen(ranked(question, *texts), 0.0)[0]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("When was the mill built?", "It was built in 1843"),
        ("Who built the mill?", "Anna and Paul Keller"),
        ("Why was a new dam paid for?", "Because the old dam leaked"),
        ("How many wheels did it have?", "two wheels"),
        ("How long must dough be kneaded?", "ten minutes"),
        ("How much rye flour was made?", "Rye flour 120"),
    ],
)
def test_the_sentence_that_answers_is_first(question: str, answer: str) -> None:
    """Words, their forms and what the question asks for find the sentence among others."""
    assert answer in best(question, TWO_MILLERS, FLOUR, TABLE).text


def test_a_quote_keeps_its_passage() -> None:
    """It is cited as the passage that holds it; a copy elsewhere does not repeat it."""
    assert best("How long must dough be kneaded?", TWO_MILLERS, FLOUR).passage.label == "mill.pdf#2"
    found = quotes(passages(TWO_MILLERS, TWO_MILLERS), "")
    assert {one.passage.label for one in found} == {"mill.pdf#1"}


async def test_quotes_are_few_and_short() -> None:
    """At most three, of 60 words together, unless one sentence alone is longer."""
    kinds = ("rye barley oats", "maize millet spelt", "beans peas lentils", "hemp linseed poppy")
    texts = [f"The mill ground {f'{kind} ' * 6}flour in the year 190{n}." for n, kind in enumerate(kinds)]
    said = await answer(prompt("When did the mill grind flour?", *texts))
    assert 1 < said.count("“") <= MOST
    assert sum(len(quote.split()) for quote in re.findall("“(.*?)”", said)) <= MOST_WORDS
    assert "ground" in await answer(
        prompt("What did the mill grind?", texts[0].replace("fine", "fine and dark"))
    )


async def test_a_follow_up_may_need_the_same_row() -> None:
    """Of a table whose row answers both questions, beside one that answers neither."""
    table = "Item | 2021 | 2020\n--- | --- | ---\nNet income | 5,007 | 4,002\nInterest paid | 171 | 160"
    first = await answer(prompt("What was the net income in 2021?", table))
    turns = (Turn(Role.USER, "What was the net income in 2021?"), Turn(Role.ASSISTANT, first))
    assert "Net income | 5,007 | 4,002" in await answer(prompt("And in 2020?", table, turns=turns))


async def test_a_follow_up_does_not_repeat_the_last_quote() -> None:
    """It gives the next best one; the same question again has the same answer."""
    first = await answer(prompt("Who built the mill?", MILL))
    turns = (Turn(Role.USER, "Who built the mill?"), Turn(Role.ASSISTANT, first))
    said = await answer(prompt("And what else about it?", MILL, turns=turns))
    assert not any(quote in said for quote in re.findall("“(.*?)”", first))
    assert await answer(prompt("Who built the mill?", MILL, turns=turns)) == first


FILES = ("ACME_2020.pdf", "ACME_2021.pdf", "BlueHarbour_2020.pdf")
NAMES = [
    ("Where is Acme based?", FILES[:2]),
    ("blue harbour head office", FILES[2:]),
    ("Where was Acme in 2021?", FILES[1:2]),
    ("Where is GFM based?", ("report.pdf",)),
    ("Where is it based?", FILES),
]


@pytest.mark.parametrize(("question", "files"), NAMES)
def test_the_document_that_is_named_comes_first(question: str, files: Sequence[str]) -> None:
    """By its file's name, words written as one, initials of its title, or a year."""
    texts = [
        Passage("documents", name, f"The seat is town {n}.", 1, f"{name}#1") for n, name in enumerate(FILES)
    ]
    titled = Passage(
        "documents", "r", "The seat is town 9.", 1, "report.pdf#1", title="Great Falls Mining, Inc."
    )
    found = by_words(question, quotes([*texts, titled], question))
    top = [one for one in found if one.named == found[0].named]
    assert {one.passage.label.partition("#")[0] for one in top} >= set(files)
    assert found[0].passage.label.partition("#")[0] in files


def test_a_heading_is_no_answer() -> None:
    """What states nothing gives way to what does, though it holds the same words."""
    assert best("mill output", "Output of the mill", "The mill had an output of 430 tons.").text.endswith(
        "tons."
    )


def test_surroundings_speak_for_a_sentence() -> None:
    """Of two equal sentences, the one beside the question's subject is better."""
    other = "The bakery stands uphill. Its height is 12 metres."
    mill = "The mill stands below the weir. Its height is 15 metres."
    assert "15" in best("What is the height of the mill in metres?", other, mill).text


def test_near_duplicates_are_dropped() -> None:
    """Two sentences that say the same are one quote."""
    one, other = "The mill was built in 1843.", "The mill was built in the year 1843."
    assert len(chosen(ranked("When was the mill built?", one, other), 0.0)) == 1


def test_a_chain_of_sentences_that_lean_is_quoted_once() -> None:
    """The one between comes with the sentence after it, and not again with the one before it."""
    first, second, third = quotes(passages("The mill stood idle. It had no water. This had a cause."), "")
    second = replace(second, before=first, leans=True, score=1.0)
    third = replace(third, before=second, leans=True, score=2.0)
    assert [quote.text for quote in chosen([third, second], 0.0)] == [f"{second.text} {third.text}"]


def test_what_has_nothing_to_do_with_it_stays_below() -> None:
    """An unrelated question scores under what is taken for an answer."""
    assert best("What is the boiling point of tungsten?", TWO_MILLERS, FLOUR).score < LEAST_BY_WORDS


@settings(deadline=None)
@given(st.text(max_size=60), st.lists(st.text(max_size=200), max_size=6))
def test_any_question_and_passages_are_ranked(question: str, texts: list[str]) -> None:
    """At most three distinct quotes, best first, each from a passage that was given."""
    given_ = passages(*texts)
    found = chosen(by_words(question, quotes(given_, question)), 0.0)
    assert len(found) <= MOST
    assert len({one.text for one in found}) == len(found)
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    assert {one.passage.label for one in found} <= {one.label for one in given_}


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("It rose by 3.5 percent. Then it fell.", ["It rose by 3.5 percent.", "Then it fell."]),
        ("Dr. Smith of Acme Inc. met J. R. Jones.", ["Dr. Smith of Acme Inc. met J. R. Jones."]),
        ("See Fig. 3 and p. 12. Next.", ["See Fig. 3 and p. 12.", "Next."]),
        ("The U.S. economy grew. Prices did not.", ["The U.S. economy grew.", "Prices did not."]),
        ("Das gilt z.B. hier. Und am 3. Mai.", ["Das gilt z.B. hier.", "Und am 3.", "Mai."]),
        ("He said “Stop.” Then he left.", ["He said “Stop.”", "Then he left."]),
        ("Wait... no. Yes.", ["Wait... no.", "Yes."]),
        ("第一句。第二句！第三句？", ["第一句。", "第二句！", "第三句？"]),
        ("هل هذا صحيح؟ نعم.", ["هل هذا صحيح؟", "نعم."]),
        ("यह पहला है। यह दूसरा है।", ["यह पहला है।", "यह दूसरा है।"]),
        ("Revenue 1,200 1,100\nCosts 900 800", ["Revenue 1,200 1,100", "Costs 900 800"]),
        ("A line that was\nwrapped goes on.", ["A line that was wrapped goes on."]),
        ("hyphen-\nated words", ["hyphen-ated words"]),
        ("First para.\n\nSecond  para.", ["First para.", "Second para."]),
        ("", []),
        (" \n . — \n", []),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else "",
)
def test_cuts(text: str, parts: list[str]) -> None:
    """Sentences of many scripts, rows of tables and wrapped lines come out as a reader sees them."""
    assert sentences(text) == parts


text_like = st.text(st.sampled_from("ab Z9.,!?\n。؟“”-\t()日"), max_size=600) | st.text(max_size=200)


@given(text_like)
def test_sentences_are_the_texts_own_words(text: str) -> None:
    """White space and ellipses apart, every sentence is in the text, in order, and short enough to quote."""
    bare = re.sub(r"[\s…]", "", text)
    at = 0
    for quote in sentences(text):
        assert 0 < len(quote) <= LONGEST
        place = bare.find(re.sub(r"[\s…]", "", quote), at)
        assert place >= at
        at = place + 1


@given(text_like)
def test_no_word_is_lost(text: str) -> None:
    """Every letter and digit of the text is in a quote."""
    for kept in ("".join(sentences(text)), "".join(part.text for part in quotable(text) if part.alone)):
        assert re.sub(r"\W", "", kept) == re.sub(r"\W", "", text)


SALES = """Sales by segment were as follows:
(Dollars in Millions) | 2022 | 2021
--- | --- | ---
Consumer | $493 | $459
Pharmaceutical | 11,622 | 11,878
Five years:
 | 2020 | 2019
--- | --- | ---
Consumer | 12 | 13"""


def test_a_row_is_quoted_with_its_head_and_read_with_its_caption() -> None:
    """Year and unit belong to a figure; a later head replaces the first."""
    rows = [part for part in quotable(SALES) if "|" in part.text]
    assert [part.text for part in rows] == [
        f"(Dollars in Millions) | 2022 | 2021{GAP}Consumer | $493 | $459",
        f"(Dollars in Millions) | 2022 | 2021{GAP}Pharmaceutical | 11,622 | 11,878",
        f"| 2020 | 2019{GAP}Consumer | 12 | 13",
    ]
    assert [part.context for part in rows] == ["Sales by segment were as follows:"] * 2 + ["Five years:"]


def test_short_lines_are_quoted_together() -> None:
    """A name and the title below it."""
    found = [part.text for part in quotable("Anna Keller\nDirector\nPaul Falk\nTreasurer")]
    assert "Anna Keller Director" in found
    assert "Paul Falk Treasurer" in found


def test_a_long_sentence_is_cut_where_it_can_be_with_an_ellipsis() -> None:
    """At each cut, and no more than a quote may have."""
    first, *rest, last = sentences("The mill, " * 100 + "closed.")
    assert first.endswith("…")
    assert all(part.startswith("… ") and part.endswith("…") for part in rest)
    assert last.startswith("… ")
    assert last.endswith("closed.")


@pytest.mark.parametrize(
    "unit", ["x", "x ", ".", "?", "a.", ". ", "\n", "日", "(", "1,", '."', "a | b\n", "a\n"], ids=ascii
)
def test_half_a_megabyte_of_anything_is_cut(unit: str) -> None:
    """A rule that takes quadratic time runs into the suite's timeout."""
    pieces = quotable((unit * 500_000)[:500_000])
    assert max((len(piece.text) for piece in pieces), default=0) <= LONGEST


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Who is the CEO?", "Who is the CEO (chief executive officer)?"),
        ("who is the ceo", "who is the ceo (chief executive officer)"),
        ("R&D in 2020?", "R&D (research and development) in 2020?"),
        ("What did ACME earn?", "What did ACME earn?"),
        ("What is the EPA?", "What is the EPA?"),
    ],
)
def test_an_abbreviation_is_read_with_its_long_form(question: str, said: str) -> None:
    """As the passages write it; a document's own name is left alone."""
    text = "The Chief Executive Officer (CEO) spoke. Our Chief Executive Officer left. " + 3 * (
        "Research and development rose; all companies made errors. "
    )
    assert spelled_out(question, [Passage("documents", "1", text, 1, "acme.pdf#1")]) == said


def test_rows_keep_their_head_and_section() -> None:
    text = "Region | 2021\n--- | ---\nSTELARA\nUS | 1,817\nASSETS\nCash | 5"
    quoted = [part.text for part in quotable(text)]
    assert "Region | 2021 … STELARA … US | 1,817" in quoted
    assert "Region | 2021 … ASSETS … Cash | 5" in quoted


@pytest.mark.parametrize(
    ("question", "about"),
    [
        ("What was the revenue in 2021?", True),
        ("What was the revenue of Acme in 2021?", True),
        ("What was the revenue of Globex in 2021?", False),
        ("Globex's revenue?", False),
        ("What was the revenue in 1995?", False),
    ],
)
def test_another_name_or_year_makes_an_answer_the_closest(question: str, *, about: bool) -> None:
    passage = Passage("documents", "1", "Revenue was 7 million in 2021.", 1, "acme.pdf#1")
    [quote] = quotes([passage], question)
    assert is_about(question, quote, [passage]) is about
