"""Source text into chunks: whole, in order, no larger than what is read of them; definitions by tree-
sitter."""

import asyncio
import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.db.code import CodeCut, CodeFile, CutFile
from app.errors import InvalidField, Overloaded
from app.ingest import syntax
from app.ingest.code import LIMIT, Lines, cut_file, sections
from app.ingest.cutter import WORKER, CodeCutter
from app.ingest.syntax import (
    GRAMMARS,
    SECONDS,
    Definition,
    definitions,
    grammar,
    language_of,
)
from app.text.vocabulary import READ, pieces
from tests.fakes.process import children, wait_for

FUNCTION = "def {0}(a):\n    '''What {0} does.'''\n" + "    total = a + compute({0}, again={1})\n" * 4


METHOD = "    def {0}(self):\n" + "        self.total = self.value + other.value * {1}\n" * 8


BIG = "class Big(Base):\n    '''About it.'''\n\n" + "\n".join(METHOD.format(f"m{at}", at) for at in range(8))


def cut(text: str, language: str) -> list[CodeCut]:
    """The chunks of a file."""
    return list(cut_file(CodeFile("file", text, language), SECONDS).cuts)


def bare(text: str) -> str:
    return "".join(text.split())


def named(cuts: list[CodeCut]) -> list[tuple[str | None, str | None]]:
    return [(each.class_name, each.function_name) for each in cuts]


def test_each_function_is_a_chunk() -> None:
    """Imports and constants before it are one of their own, or go with it where they are few."""
    imports = "".join(f"from package.module{at} import name{at}\n" for at in range(8))
    text = f"{imports}\n\n{FUNCTION.format('one', 1)}\n\n{FUNCTION.format('two', 2)}"

    cuts = cut(text, "python")

    assert named(cuts) == [(None, None), (None, "one"), (None, "two")]
    assert [(each.start_line, each.end_line) for each in cuts] == [(1, 8), (11, 16), (19, 24)]
    assert cuts[1].text == FUNCTION.format("one", 1).rstrip("\n")
    assert cuts[1].signature == "def one(a):"


def test_a_small_class_is_one_chunk() -> None:
    (only,) = cut(f"class Small:\n{METHOD.format('m', 1)}", "python")

    assert (only.class_name, only.function_name, only.signature) == ("Small", None, "class Small:")


def test_a_large_class_is_its_head_and_its_methods() -> None:
    """Each knows the class; what is tiny of the head goes with the first method."""
    cuts = cut(BIG, "python")

    assert {each.class_name for each in cuts} == {"Big"}
    assert [each.function_name for each in cuts] == [f"m{at}" for at in range(8)]
    assert cuts[0].text.startswith("class Big(Base):")
    assert cuts[0].start_line == 1


def test_classes_in_classes_are_told_by_their_path() -> None:
    """As Python qualifies them."""
    inner = "\n".join(f"    {line}" for line in BIG.split("\n"))

    assert {each.class_name for each in cut(f"class Outer:\n{inner}\n", "python")} <= {"Outer.Big", "Outer"}


def test_a_long_function_is_divided_at_its_blank_lines() -> None:
    """Each part has its name, and its own lines."""
    part = "".join(f"    value{at} = first(second, third[{at}])\n" for at in range(12))
    cuts = cut("def long():\n" + f"{part}\n" * 4, "python")

    assert len(cuts) > 1
    assert {each.function_name for each in cuts} == {"long"}
    assert all(each.text.split("\n")[-1].strip().startswith("value11") for each in cuts)


def test_without_blank_lines_it_is_divided_before_little_indentation() -> None:
    """No part begins in the middle of a loop."""
    loop = "    for a in b:\n" + "        value = first(second, third[a])\n" * 5
    cuts = cut("def long():\n" + loop * 12, "python")

    assert len(cuts) > 1
    assert all(each.text.startswith("    for a in b:") for each in cuts[1:])


def test_tiny_definitions_share_a_chunk() -> None:
    """And are told by all of their names."""
    (only,) = cut("".join(f"def f{at}(): return {at}\n" for at in range(5)), "python")

    assert only.function_name == "f0, f1, f2, f3, f4"


def test_texts_are_cut_at_their_headings() -> None:
    """A short one goes with its neighbour; a chunk is told by the heading it begins with."""
    long = "A sentence with a few words in it.\n" * 30
    cuts = cut(f"# One\n{long}\n## Two\n{long}\n## Three\nshort\n", "markdown")

    assert [each.heading for each in cuts] == ["One", "One › Two"]


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"], ids=["lf", "crlf", "cr"])
def test_line_ends_change_no_name_and_no_number(ending: str) -> None:
    """Whoever's editor wrote the file."""
    text = f"import os\n\n\n{FUNCTION.format('one', 1)}\n\n{FUNCTION.format('two', 2)}"
    plain, other = cut(text, "python"), cut(text.replace("\n", ending), "python")

    assert [each.start_line for each in other] == [each.start_line for each in plain]
    assert named(other) == named(plain)


def test_a_byte_order_mark_is_no_text() -> None:
    """It is left out."""
    assert cut("\ufeffx = 1\n", "python")[0].text == "x = 1"


HOSTILE = {
    "minified": ("var a=[1,2,{b:function(){return 1}}];" * 2_500, "javascript"),
    "brackets": ("(" * 100_000, "python"),
    "closed brackets": ("[" * 20_000 + "]" * 20_000, "python"),
    "classes in classes": ("class A {\n" * 5_000, "java"),
    "functions in functions": ("".join(" " * at + "def f():\n" for at in range(300)), "python"),
    "base64": (f"x = '{'A' * 100_000}'\n", "python"),
    "fences": ("```\n" * 5_000, "markdown"),
    "nul": ("def f():\n    x = '\0'\n" * 200, "python"),
    "no spaces": ("日本語のテキスト" * 4_000, "text"),
    "many lines": ("a\n" * 50_000, "text"),
    "blank": (" \n\t\r\n" * 1_000, "python"),
    "empty": ("", "go"),
}


@pytest.mark.parametrize(("text", "language"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_texts_are_cut_too(text: str, language: str) -> None:
    """All of them is kept, in chunks that are read whole."""
    cuts = cut(text, language)

    assert bare("".join(each.text for each in cuts)) == bare(text)
    assert all(pieces(each.text) <= READ - 2 for each in cuts)


LINES = st.sampled_from(
    ["def f():", "    return 1", "class A:", "    def m(self):", "        x = 1", "# said", "@d", "}", "{",
     "", " ", "function g() {", "x = [", "'''", '"', "# T", "```", "if a:", "import os  # é", "word " * 90,
     ";" * 600]
)  # fmt: skip


@given(st.lists(LINES, max_size=60), st.sampled_from([*GRAMMARS, "markdown", "toml", "text"]))
def test_every_line_is_in_exactly_one_chunk(lines: list[str], language: str) -> None:
    """Whatever the text: nothing lost, nothing twice, in order; each chunk is the file's own lines, and
    only a line that is too long by itself is in several."""
    text = "\n".join(lines)
    cuts = cut(text, language)

    assert bare("".join(each.text for each in cuts)) == bare(text)
    covered: list[int] = []
    for each in cuts:
        assert 1 <= each.start_line <= each.end_line <= len(lines)
        assert each.text in "\n".join(lines[each.start_line - 1 : each.end_line])
        assert pieces(each.text) <= LIMIT
        covered += range(each.start_line, each.end_line + 1)
    long = [at for at in set(covered) if covered.count(at) > 1]
    assert covered == sorted(covered)
    assert all(pieces(lines[at - 1]) > LIMIT for at in long)
    assert {at for at, line in enumerate(lines, 1) if line.strip()} <= set(covered)


async def cut_files(**texts: str) -> dict[str, CutFile]:
    """Files by their language, cut in a worker process."""
    files = [CodeFile(f"{language}.code", text, language) for language, text in texts.items()]
    return dict(zip(texts, await CodeCutter().cut(files), strict=True))


async def test_the_path_says_the_language_unless_somebody_does() -> None:
    """What nobody knows is text."""
    files = [CodeFile("a.py", "pass"), CodeFile("a.py", "pass", "ruby"), CodeFile("a.strange", "words")]

    assert [each.language for each in await CodeCutter().cut(files)] == ["python", "ruby", "text"]


async def test_a_worker_makes_the_same_as_this_process_would() -> None:
    """Nothing is lost on the way between them, whatever the text."""
    texts = {
        "python": f"{FUNCTION.format('é', 1)}\x1f\u2028\n{BIG}",
        "markdown": "# A 😀\r\n\r\nwords\x00",
        "c": "",
    }

    done = await cut_files(**texts)

    assert {language: list(each.cuts) for language, each in done.items()} == {
        language: cut(text, language) for language, text in texts.items()
    }
    assert not any(each.note for each in done.values())


BREAKING = {
    "typescript": "a<" * 30_000,
    "bash": "((a)" * 60_000,
    "rust": 'r#"' * 80_000,
}
"""Time or memory without end for a parser."""


@pytest.mark.timeout(120)
async def test_what_a_parser_cannot_read_is_cut_by_lines_and_nothing_else_is() -> None:
    """Each of the files is there, whole, those that break their parser with a note."""
    texts = BREAKING | {"python": f"{FUNCTION.format('one', 1)}\n\n{FUNCTION.format('two', 2)}"}

    done = await cut_files(**texts)

    assert {language: bare("".join(each.text for each in file.cuts)) for language, file in done.items()} == {
        language: bare(text) for language, text in texts.items()
    }
    assert "by lines" in done["bash"].note
    assert (done["python"].note, named(list(done["python"].cuts))) == ("", [(None, "one"), (None, "two")])


BEGINS = """
import os, socket, sys
from app.child import FrameKind, connected, receive
parent, _ = connected()
wire = socket.socket(fileno=int(sys.argv[2]))
parent.ready()
receive(wire)
parent.send(FrameKind.ITEM, 1)
os.abort()
"""


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        pytest.param(BEGINS, (InvalidField, "python.code takes too much time or memory"), id="at the file"),
        pytest.param("raise SystemExit(1)", (Overloaded, "did not start"), id="before it began"),
    ],
)
async def test_a_worker_that_dies_is_told_by_when_it_did(
    code: str, problem: tuple[type[Exception], str]
) -> None:
    """At a file that cannot even be cut by lines: nothing of the request is kept. Before: it may be asked
    again."""
    worker = replace(WORKER, command=(sys.executable, "-c", code))
    with pytest.raises(problem[0], match=problem[1]):
        await CodeCutter(worker).cut([CodeFile("python.code", "pass")])


async def test_a_cancelled_request_leaves_no_worker() -> None:
    """Cancellation kills it before it goes on."""
    others = children()
    task = asyncio.create_task(cut_files(**BREAKING))
    await asyncio.to_thread(wait_for, lambda: children() - others)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert children() <= others


MARKDOWN = """intro

# Title
text
## Part
```sh
# no heading
```
## Other ##

Under
=====
end"""


def found_headings(text: str, language: str) -> list[tuple[int, str | None]]:
    """(first line, heading) of each."""
    return [(first, heading) for first, _, heading in sections(text.split("\n"), language)]


def test_markdown_by_its_headings() -> None:
    """With those above; not by what stands in a fence."""
    assert found_headings(MARKDOWN, "markdown") == [
        (0, None),
        (2, "Title"),
        (4, "Title › Part"),
        (8, "Title › Other"),
        (10, "Under"),
    ]


@pytest.mark.parametrize(
    ("language", "text", "found"),
    [
        ("rst", "Title\n=====\n\ntext\n\nPart\n----\nmore", [(0, "Title"), (5, "Title › Part")]),
        ("toml", "a = 1\n[tool.x]\nb = 2\n[[y]]\nc = 3", [(0, None), (1, "tool.x"), (3, "y")]),
        ("yaml", "on: push\njobs:\n  test: 1\n# a: b", [(0, "on"), (1, "jobs")]),
        ("sql", "CREATE TABLE a (\n  b int);\nselect 1", [(0, "CREATE TABLE a"), (2, "select 1")]),
        ("ini", "; note\n[core]\nx=1", [(0, None), (1, "core")]),
        ("json", '{\n"a": 1}', [(0, None)]),
    ],
)
def test_other_texts_by_what_begins_their_parts(
    language: str, text: str, found: list[tuple[int, str | None]]
) -> None:
    """What has no such beginnings is one section."""
    assert found_headings(text, language) == found


@pytest.mark.parametrize(
    ("line", "heading"),
    [
        ("# a  ", "a"),
        ("### a b ## ", "a b"),
        ("# a # #", "a #"),
        ("# ##", "#"),
        ("#\ta", "a"),
        ("#  ", None),
        ("#a", None),
        ("####### a", None),
    ],
)
def test_a_heading_without_its_signs(line: str, heading: str | None) -> None:
    """Those in front and at the end are not its words."""
    assert found_headings(line, "markdown") == [(0, heading)]


@given(
    st.lists(
        st.sampled_from(["# a", "## b", "a", "===", "---", "", "```", "[x]", "k: v", "  z"]), min_size=1
    ),
    st.sampled_from(["markdown", "rst", "toml", "yaml", "text", "json"]),
)
def test_every_line_is_in_one_section(lines: list[str], language: str) -> None:
    """In order, without a gap."""
    found = list(sections(lines, language))

    assert [line for first, last, _ in found for line in range(first, last + 1)] == list(range(len(lines)))


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("app/main.py", "python"),
        ("src/App.TSX", "tsx"),
        ("include/list.h", "c"),
        ("Dockerfile", "dockerfile"),
        ("a/CMakeLists.txt", "cmake"),
        ("notes.txt", "text"),
        ("README", "text"),
        ("photo.jpg", None),
        ("py", None),
        ("archive.tar.gz", None),
    ],
)
def test_a_name_tells_the_language(path: str, language: str | None) -> None:
    """By its ending, or the whole of it; None for what is neither code nor text."""
    assert language_of(path) == language


@pytest.mark.parametrize("language", GRAMMARS)
def test_every_grammar_opens(language: str) -> None:
    """Of the versions that are installed."""
    found = grammar(language)

    assert found is not None
    assert found.node_kind_count > 50


TABLES = ("FUNCTIONS", "CLASSES", "LAMBDAS", "WRAPPERS", "CONTAINERS", "COMMENTS")


@pytest.fixture(scope="module")
def kinds() -> set[str]:
    """Every kind of every grammar."""
    languages = [found for name in GRAMMARS if (found := grammar(name))]
    return {str(each.node_kind_for_id(at)) for each in languages for at in range(each.node_kind_count)}


@pytest.mark.parametrize("table", TABLES)
def test_every_kind_is_one_of_a_grammar(kinds: set[str], table: str) -> None:
    """A misspelt one would never be found, and nobody would hear of it."""
    assert sorted(getattr(syntax, table) - kinds - {"ERROR"}) == []


SAMPLES = {
    "python": (
        ("import os\n\n# About f.\n@cached\ndef f(a):\n    def g():\n        pass\n    return g\n\n"
        "class A(B):\n    x = 1\n\n    async def m(self) -> int:\n        return 1\n"),
        [("f", 2, 7, False), ("A", 9, 13, True), ("A.m", 12, 13, False)],
    ),
    "javascript": (
        ("export default class A {\n  m() { return 1 }\n  h = () => 2\n}\n/** doc */\n"
        "export const f = (a) => {\n  return a\n}\nfunction* g() {}\nmodule.exports.k = function () {}\n"),
        [
            ("A", 0, 3, True),
            ("A.m", 1, 1, False),
            ("A.h", 2, 2, False),
            ("f", 4, 7, False),
            ("g", 8, 8, False),
            ("module.exports.k", 9, 9, False),
        ],
    ),
    "typescript": (
        ("interface P { a: string }\nexport enum C { Red }\nnamespace N {\n  export function f(): void {}\n"
        "}\nabstract class A<T> implements P {\n  constructor(private x: T) {}\n}\ntype T = string\n"),
        [
            ("P", 0, 0, True),
            ("C", 1, 1, True),
            ("f", 3, 3, False),
            ("A", 5, 7, True),
            ("A.constructor", 6, 6, False),
            ("T", 8, 8, True),
        ],
    ),
    "tsx": ("const V = () => <b>{1}</b>\n", [("V", 0, 0, False)]),
    "go": (
        ("package a\n\n// F is.\nfunc F() int { return 1 }\n\ntype S struct {\n\tx int\n}\n\n"
        "func (s *S) M() {}\n"),
        [("F", 2, 3, False), ("S", 5, 7, True), ("S/M", 9, 9, False)],
    ),
    "rust": (
        ("/// Doc.\n#[derive(Debug)]\nstruct S { x: i32 }\n\nimpl S {\n    fn m(&self) {}\n}\n\nmod k {\n"
        "    pub fn f() {}\n}\n\nmacro_rules! mm { () => {} }\n"),
        [
            ("S", 0, 2, True),
            ("S", 4, 6, True),
            ("S.m", 5, 5, False),
            ("f", 9, 9, False),
            ("mm", 12, 12, False),
        ],
    ),
    "java": (
        ("package a;\n\n/** Doc. */\n@Entity\npublic class A {\n  A() {}\n  int m() { return 1; }\n}\n"
        "record R(int x) {}\n"),
        [("A", 2, 7, True), ("A.A", 5, 5, False), ("A.m", 6, 6, False), ("R", 8, 8, True)],
    ),
    "c": (
        ("#include <a.h>\n#ifdef X\nstatic int *f(int a)\n{\n  return 0;\n}\n#endif\nstruct s { int x; };\n"
        "typedef struct { int y; } t;\n"),
        [("f", 2, 5, False), ("s", 7, 7, True), ("t", 8, 8, True)],
    ),
    "cpp": (
        ("namespace n {\ntemplate <class T>\nclass A {\n public:\n  void m() {}\n};\nvoid A::k() {}\n}\n"
        'extern "C" { int f() { return 1; } }\n'),
        [("A", 1, 5, True), ("A.m", 4, 4, False), ("A::k", 6, 6, False), ("f", 8, 8, False)],
    ),
    "csharp": (
        ("using System;\nnamespace N {\n  [Attr]\n  class A {\n    public A() {}\n    int M() => 1;\n  }\n"
        "  interface I {}\n}\n"),
        [("A", 2, 6, True), ("A.A", 4, 4, False), ("A.M", 5, 5, False), ("I", 7, 7, True)],
    ),
    "php": (
        "<?php\nnamespace N;\nfunction f() {}\nclass A {\n  public function m() {}\n}\ntrait T {}\n",
        [("f", 2, 2, False), ("A", 3, 5, True), ("A.m", 4, 4, False), ("T", 6, 6, True)],
    ),
    "ruby": (
        ("# About.\nmodule M\n  class A < B\n    def m\n      1\n    end\n\n    def self.k = 2\n  end\nend\n"
        "\ndef f; end\n"),
        [("M", 0, 9, True), ("M.A", 2, 8, True), ("M.A.m", 3, 5, False), ("M.A.k", 7, 7, False),
         ("f", 11, 11, False)],
    ),
    "bash": ("set -e\nf() {\n  echo\n}\nfunction g { :; }\n", [("f", 1, 3, False), ("g", 4, 4, False)]),
}  # fmt: skip


def found(language: str, text: str) -> list[Definition]:
    lines = Lines(text, len)
    read = definitions(language, lines.data, lines.at_byte)
    assert read is not None
    return read


def flat(
    read: list[Definition] | tuple[Definition, ...], owner: str = ""
) -> list[tuple[str, int, int, bool]]:
    """Every definition with its full name."""
    told = []
    for each in read:
        name = f"{owner}{each.owner + '/' if each.owner else ''}{each.name}"
        told += [(name, each.first, each.last, each.is_class), *flat(each.members, f"{name}.")]
    return told


@pytest.mark.parametrize("language", SAMPLES)
def test_definitions_are_found_with_their_lines(language: str) -> None:
    """Decorators and comments above included; methods inside of their class, nested functions not told."""
    text, told = SAMPLES[language]

    assert flat(found(language, text)) == told


@pytest.mark.parametrize(
    ("language", "text", "signature"),
    [
        (
            "python",
            "@cached\nasync def f(\n    a: int,\n) -> str:\n    return a\n",
            "async def f( a: int, ) -> str:",
        ),
        ("javascript", "export const f = (a) => a\n", "export const f = (a) =>"),
        ("rust", "pub fn f<T>(a: T) -> T { a }\n", "pub fn f<T>(a: T) -> T"),
        ("java", "class A extends B { int x; }\n", "class A extends B"),
    ],
)
def test_a_signature_ends_where_the_body_begins(language: str, text: str, signature: str) -> None:
    assert found(language, text)[0].signature == signature


def test_a_comment_apart_is_not_the_function_s() -> None:
    """A blank line between, or code before it on its line."""
    text = "# apart\n\nx = 1  # said of x\ndef f(): pass\n"

    assert flat(found("python", text)) == [("f", 3, 3, False)]


def test_errors_hide_no_function() -> None:
    """A file in the middle of an edit."""
    text = "def f():\n    x = = 1\n\ndef g():\n    return 1\n"

    assert "g" in [each.name for each in found("python", text)]


def test_parsing_ends_when_its_time_is_up() -> None:
    assert definitions("python", b"x = [1, 2, (3)]\n" * 50_000, lambda _: 0, seconds=0.02) is None
