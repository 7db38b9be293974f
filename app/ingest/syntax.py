"""Languages by file name, and the definitions (functions and classes) of source text by tree-sitter.

One table of node types serves all grammars, since they name their nodes alike. Wrappers (an export, a
template, decorators) and the comments right above a definition belong to it; nested functions are part of the
outer one. Parsing is limited by processor time. The parser holds the GIL, so the service parses in a worker
process. Lines count from 0.
"""

import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import PurePosixPath

from tree_sitter import Language, Node, Parser, Point

TEXT = "text"
"""The language of files that are text of no known kind."""
EXTENSIONS = {
    "python": "py pyi pyw",
    "javascript": "js mjs cjs jsx",
    "typescript": "ts mts cts",
    "tsx": "tsx",
    "go": "go",
    "rust": "rs",
    "java": "java",
    "c": "c h",
    "cpp": "cc cpp cxx c++ hpp hh hxx h++ ipp cu cuh",
    "csharp": "cs",
    "php": "php phtml",
    "ruby": "rb rake gemspec",
    "bash": "sh bash zsh",
    "kotlin": "kt kts",
    "swift": "swift",
    "scala": "scala sc",
    "lua": "lua",
    "perl": "pl pm",
    "r": "r",
    "julia": "jl",
    "dart": "dart",
    "elixir": "ex exs",
    "erlang": "erl hrl",
    "haskell": "hs",
    "ocaml": "ml mli",
    "clojure": "clj cljs cljc",
    "lisp": "lisp el scm",
    "zig": "zig",
    "fortran": "f90 f95 f03",
    "objective-c": "m mm",
    "powershell": "ps1 psm1",
    "batch": "bat cmd",
    "sql": "sql",
    "graphql": "graphql gql",
    "protobuf": "proto",
    "terraform": "tf tfvars hcl",
    "nix": "nix",
    "cython": "pyx pxd",
    "vue": "vue",
    "svelte": "svelte",
    "html": "html htm xhtml",
    "css": "css scss sass less",
    "xml": "xml xsd xsl",
    "json": "json jsonc json5",
    "yaml": "yaml yml",
    "toml": "toml",
    "ini": "ini cfg conf properties editorconfig",
    "markdown": "md markdown mdx",
    "rst": "rst",
    "tex": "tex",
    "cmake": "cmake",
    "makefile": "mk",
    "mako": "mako",
    TEXT: "txt adoc org in",
}
"""File name extensions by language."""
NAMES = {
    "dockerfile": "dockerfile",
    "containerfile": "dockerfile",
    "makefile": "makefile",
    "gnumakefile": "makefile",
    "cmakelists.txt": "cmake",
    "gemfile": "ruby",
    "rakefile": "ruby",
    "justfile": "makefile",
    "readme": TEXT,
    "license": TEXT,
    "changelog": TEXT,
    "notice": TEXT,
    "authors": TEXT,
    "contributing": TEXT,
    ".gitignore": TEXT,
    ".env.example": "ini",
    ".env.sample": "ini",
    ".env.template": "ini",
}
GRAMMARS = {
    "python": ("tree_sitter_python", "language"),
    "javascript": ("tree_sitter_javascript", "language"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "go": ("tree_sitter_go", "language"),
    "rust": ("tree_sitter_rust", "language"),
    "java": ("tree_sitter_java", "language"),
    "c": ("tree_sitter_c", "language"),
    "cpp": ("tree_sitter_cpp", "language"),
    "csharp": ("tree_sitter_c_sharp", "language"),
    "php": ("tree_sitter_php", "language_php"),
    "ruby": ("tree_sitter_ruby", "language"),
    "bash": ("tree_sitter_bash", "language"),
}
"""Language: module and function of its grammar."""
LANGUAGES = {extension: language for language, all_of in EXTENSIONS.items() for extension in all_of.split()}
GRAMMAR_LOCK = threading.Lock()

SECONDS = 3.0
"""Processor time for a file; half a megabyte of code takes half a second. Not elapsed time: a busy machine
must give the same chunks as an idle one."""
MAX_DEPTH = 24
"""Maximum depth of nested containers that are searched."""
NAME_CHARS, SIGNATURE_CHARS = 200, 300
"""Maximum characters of either."""
READ_BYTES = 1 << 16
"""Bytes handed to the parser at once."""


def node_types(text: str) -> frozenset[str]:
    return frozenset(text.split())


FUNCTIONS = node_types("""
    function_definition function_declaration generator_function_declaration function_item method_declaration
    constructor_declaration compact_constructor_declaration destructor_declaration operator_declaration
    conversion_operator_declaration indexer_declaration method_definition method singleton_method
    macro_definition
""")
CLASSES = node_types("""
    class_definition class_declaration abstract_class_declaration interface_declaration enum_declaration
    record_declaration struct_declaration annotation_type_declaration trait_declaration class_specifier
    struct_specifier union_specifier enum_specifier struct_item enum_item union_item trait_item impl_item
    type_declaration type_alias_declaration type_definition class module singleton_class
""")
LAMBDAS = node_types("arrow_function function_expression generator_function class")
"""Functions and classes that are values."""
WRAPPERS = node_types("""
    decorated_definition export_statement template_declaration ambient_declaration expression_statement
    lexical_declaration variable_declaration variable_declarator assignment_expression field_definition
    public_field_definition
""")
"""Nodes that may wrap one definition."""
WRAPPED_FIELDS = ("definition", "declaration", "value", "right")
"""Fields of a wrapper that hold the definition."""
CONTAINERS = node_types("""
    namespace_definition namespace_declaration file_scoped_namespace_declaration internal_module mod_item
    foreign_mod_item linkage_specification declaration_list preproc_if preproc_ifdef preproc_else
    preproc_elif if_statement elif_clause else_clause try_statement except_clause block statement_block
    class_body body_statement enum_body_declarations field_declaration_list enum_declaration_list
""") | {"ERROR"}
"""Nodes that may contain several definitions."""
COMMENTS = node_types("""
    comment line_comment block_comment html_comment attribute_item inner_attribute_item decorator
    attribute_declaration
""")
"""Nodes that belong to the definition right below them."""
DEFINITIONS = FUNCTIONS | LAMBDAS | CLASSES


def language_of(path: str) -> str | None:
    name = PurePosixPath(path).name.lower()
    return NAMES.get(name) or LANGUAGES.get(name.rpartition(".")[2] if "." in name else "")


def grammar(language: str) -> Language | None:
    """The grammar of a language, imported at first use; None: there is none."""
    if language not in GRAMMARS:
        return None
    with GRAMMAR_LOCK:
        return load_grammar(language)


@cache
def load_grammar(language: str) -> Language:
    module, function = GRAMMARS[language]
    return Language(getattr(import_module(module), function)())


@dataclass(frozen=True, slots=True)
class Definition:
    first: int
    last: int
    name: str
    signature: str
    is_class: bool
    owner: str = ""
    """The type of a method that is defined outside its type."""
    members: tuple["Definition", ...] = ()
    """Of a class."""


class SourceText:
    """A file's bytes. `line`: the line of a byte offset."""

    def __init__(self, data: bytes, line: Callable[[int], int]) -> None:
        self.data = data
        self.line = line

    def text(self, start: int, end: int, max_chars: int) -> str:
        data = self.data[start : min(end, start + 8 * max_chars)]
        return " ".join(data.decode("utf-8", "replace").split())[:max_chars]

    def name(self, node: Node | None) -> str:
        return self.text(node.start_byte, node.end_byte, NAME_CHARS) if node else ""

    def last_line(self, node: Node) -> int:
        """The last line of a node; the line break that some nodes include does not count."""
        return self.line(max(node.start_byte, node.end_byte - 1))


def definitions(
    language: str, data: bytes, line: Callable[[int], int], seconds: float = SECONDS
) -> list[Definition] | None:
    """The definitions of a file, in order. None: the language has no grammar, or parsing took too long."""
    known = grammar(language) if seconds > 0 else None
    root = parse(known, data, seconds) if known else None
    return None if root is None else list(search(root, SourceText(data, line), 0))


def parse(language: Language, data: bytes, seconds: float) -> Node | None:
    """The root of the syntax tree; None: it took too long."""
    until = time.thread_time() + seconds

    def read(offset: int, _: Point) -> bytes:
        return data[offset : offset + READ_BYTES]

    def is_late(_: int, __: bool) -> bool:
        return time.thread_time() > until

    try:
        return Parser(language).parse(read, progress_callback=is_late).root_node
    except ValueError:  # "Parsing failed": `is_late` stopped it
        return None


def search(parent: Node, source: SourceText, depth: int) -> Iterator[Definition]:
    """The definitions among the children of a node, and in the containers among them."""
    comments = code = -1  # the first line of the comments that touch the next line; the last line with code
    comments_end = -2
    for node in parent.children:
        first, last = source.line(node.start_byte), source.last_line(node)
        if node.type in COMMENTS:
            if first > code:
                comments = comments if comments_end + 1 >= first else first
                comments_end = last
            continue
        has_comments = comments_end >= 0 and comments_end + 1 >= first > code
        yield from unwrap(node, source, comments if has_comments else first, depth)
        comments, comments_end, code = -1, -2, max(code, last)


def unwrap(node: Node, source: SourceText, start: int, depth: int) -> Iterator[Definition]:
    """The definition in a node, with lines from `start`; or those in a container."""
    inner = wrapped_definition(node) if node.is_named else None
    if inner is not None:
        yield definition(inner, node, source, start, depth)
        return
    container = node.named_children[-1] if node.type in WRAPPERS and node.named_child_count else node
    if container.is_named and container.type in CONTAINERS and depth < MAX_DEPTH:
        yield from search(container, source, depth + 1)


def wrapped_definition(node: Node) -> Node | None:
    for _ in range(4):
        if node.type in DEFINITIONS:
            return node if node.named_child_count else None
        if node.type not in WRAPPERS or not node.named_child_count:
            return None
        node = first_field(node, *WRAPPED_FIELDS) or node.named_children[-1]
    return None


def definition(node: Node, whole: Node, source: SourceText, start: int, depth: int) -> Definition:
    """`whole`: the node with its wrappers."""
    body = node.child_by_field_name("body")
    is_class = node.type in CLASSES
    members = tuple(search(body, source, depth + 1)) if body and is_class and depth < MAX_DEPTH else ()
    head = node if whole.type == "decorated_definition" else whole
    signature_end = body.start_byte if body else node.end_byte
    return Definition(
        first=start,
        last=source.last_line(whole),
        name=name_of(node, source),
        signature=source.text(head.start_byte, signature_end, SIGNATURE_CHARS),
        is_class=is_class,
        owner=receiver_type(node, source),
        members=members,
    )


def name_of(node: Node, source: SourceText) -> str:
    """The name of a definition: its own, its declarator's, or that of what it is assigned to."""
    if node.type in LAMBDAS and node.child_by_field_name("name") is None:
        return source.name(first_field(node.parent, "name", "left", "property"))
    for field in ("name", "type" if node.type == "impl_item" else "declarator"):
        if (child := node.child_by_field_name(field)) is not None:
            return source.name(declared_name(child))
    spec = next((each for each in node.named_children if each.type.endswith(("_spec", "_alias"))), None)
    return source.name(spec.child_by_field_name("name")) if spec else ""


def first_field(node: Node | None, *names: str) -> Node | None:
    return next((each for name in names if node and (each := node.child_by_field_name(name))), None)


def declared_name(node: Node) -> Node:
    """What a C declarator declares, without pointers and parameters."""
    for _ in range(MAX_DEPTH):
        inner = node.child_by_field_name("declarator")
        if inner is None:
            return node
        node = inner
    return node


def receiver_type(node: Node, source: SourceText) -> str:
    """The type of a Go method, from `func (s *Server) Close()`."""
    words = re.findall(r"[^\W\d]\w*", source.name(node.child_by_field_name("receiver")))
    return words[1] if len(words) > 1 else "".join(words[:1])
