"""Languages by name, and definitions by tree-sitter, language by language."""

import pytest

from app.ingest import syntax
from app.ingest.code import Lines
from app.ingest.syntax import EXTENSIONS, GRAMMARS, LANGUAGES, Definition, definitions, grammar, language_of


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


def test_no_ending_is_two_languages() -> None:
    """Else the order of a table would decide."""
    assert len(LANGUAGES) == sum(len(endings.split()) for endings in EXTENSIONS.values())


@pytest.mark.parametrize("language", GRAMMARS)
def test_every_grammar_opens(language: str) -> None:
    """Of the versions that are installed."""
    found = grammar(language)

    assert found is not None
    assert found.node_kind_count > 50


def test_other_languages_have_none() -> None:
    """They are cut by their lines."""
    assert grammar("kotlin") is None


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
    """Of a text."""
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
    """On one line."""
    assert found(language, text)[0].signature == signature


def test_a_comment_apart_is_not_the_function_s() -> None:
    """A blank line between, or code before it on its line."""
    text = "# apart\n\nx = 1  # said of x\ndef f(): pass\n"

    assert flat(found("python", text)) == [("f", 3, 3, False)]


def test_errors_hide_no_function() -> None:
    """A file in the middle of an edit."""
    text = "def f():\n    x = = 1\n\ndef g():\n    return 1\n"

    assert "g" in [each.name for each in found("python", text)]


def test_a_language_without_a_grammar_has_no_syntax() -> None:
    """None, and not an empty list."""
    assert definitions("kotlin", b"fun f() {}", lambda _: 0) is None


def test_parsing_ends_when_its_time_is_up() -> None:
    """And says so."""
    assert definitions("python", b"x = [1, 2, (3)]\n" * 50_000, lambda _: 0, seconds=0.02) is None
