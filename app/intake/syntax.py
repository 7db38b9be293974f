"""Source text to its functions and classes, by tree-sitter: which lines each has, and what it is called.

One table for all grammars, since they name their nodes alike. What a node is wrapped in (an export, a
template, decorators) and the comments right above it belong to it; nested functions stay inside. Parsing ends
after so many seconds of its thread's processor time: then, and for a language without a grammar, None. The
parser holds Python's lock all the while, so the service parses in a worker process. Lines count from 0.
"""

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tree_sitter import Language, Node, Parser, Point

from app.intake.language import grammar
from app.intake.nodes import AROUND, CLASSES, COMMENTS, FUNCTIONS, INSIDE, LAMBDAS, SPACES

SECONDS = 3.0
"""For a file; half a megabyte of code takes half of one. By the processor's clock: a busy machine cuts as an
idle one."""
DEEPEST = 24
"""Namespaces and conditions that are looked into."""
NAME, SIGNATURE = 200, 300
"""Most characters of either."""
DEFINITIONS = FUNCTIONS | LAMBDAS | CLASSES
SLICE = 1 << 16
"""Bytes handed to the parser at once."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A function or a class."""

    first: int
    last: int
    name: str
    signature: str
    is_class: bool
    owner: str = ""
    """The type whose method it is, where it stands outside of it."""
    inner: tuple["Unit", ...] = ()
    """What a class defines."""


class Source:
    """A file's bytes, and on which line each stands."""

    def __init__(self, data: bytes, line: Callable[[int], int]) -> None:
        self.data = data
        self.line = line

    def text(self, start: int, end: int, most: int) -> str:
        """A piece on one line, cut at so many characters."""
        said = " ".join(self.data[start : min(end, start + 8 * most)].decode("utf-8", "replace").split())
        return said[:most]

    def said(self, node: Node | None, most: int = NAME) -> str:
        """A node's."""
        return self.text(node.start_byte, node.end_byte, most) if node else ""

    def ends(self, node: Node) -> int:
        """The last line that holds anything of a node; some take the line break after them."""
        return self.line(max(node.start_byte, node.end_byte - 1))


def units(
    language: str, data: bytes, line: Callable[[int], int], seconds: float = SECONDS
) -> list[Unit] | None:
    """The definitions of a file, in order; None: it has no syntax that could be read. `line`: of a byte."""
    known = grammar(language) if seconds > 0 else None
    tree = parsed(known, data, seconds) if known else None
    return None if tree is None else list(scan(tree, Source(data, line), 0))


def parsed(language: Language, data: bytes, seconds: float) -> Node | None:
    """The root; None: it was not there in time."""
    until = time.thread_time() + seconds

    def read(offset: int, _: Point) -> bytes:
        return data[offset : offset + SLICE]

    def late(_: int, __: bool) -> bool:
        return time.thread_time() > until

    try:
        return Parser(language).parse(read, progress_callback=late).root_node
    except ValueError:  # "Parsing failed": it was late
        return None


def scan(parent: Node, source: Source, depth: int) -> Iterator[Unit]:
    """What is defined right below a node, and in what it holds together."""
    above, code = -1, -1  # where the comments begin that touch the next line; the last line with code
    touching = -2
    for node in parent.children:
        first, last = source.line(node.start_byte), source.ends(node)
        if node.type in COMMENTS:
            if first > code:
                above = above if touching + 1 >= first else first
                touching = last
            continue
        start = above if touching + 1 >= first > code and touching >= 0 else first
        yield from found(node, source, start, depth)
        above, touching, code = -1, -2, max(code, last)


def found(node: Node, source: Source, start: int, depth: int) -> Iterator[Unit]:
    """A definition, with lines from `start`; or those inside of a namespace."""
    inner = defined(node) if node.is_named else None
    if inner is not None:
        yield unit(inner, node, source, start, depth)
        return
    space = node.named_children[-1] if node.type in AROUND and node.named_child_count else node
    if space.is_named and space.type in SPACES and depth < DEEPEST:
        yield from scan(space, source, depth + 1)


def defined(node: Node) -> Node | None:
    """The function or class that a node is, or wraps."""
    for _ in range(4):
        if node.type in DEFINITIONS:
            return node if node.named_child_count else None
        if node.type not in AROUND or not node.named_child_count:
            return None
        node = part(node, *INSIDE) or node.named_children[-1]
    return None


def unit(node: Node, whole: Node, source: Source, start: int, depth: int) -> Unit:
    """A definition as a unit."""
    body = node.child_by_field_name("body")
    is_class = node.type in CLASSES
    members = tuple(scan(body, source, depth + 1)) if body and is_class and depth < DEEPEST else ()
    head = node if whole.type == "decorated_definition" else whole
    return Unit(
        first=start,
        last=source.ends(whole),
        name=called(node, source),
        signature=source.text(head.start_byte, body.start_byte if body else node.end_byte, SIGNATURE),
        is_class=is_class,
        owner=receiver(node, source),
        inner=members,
    )


def called(node: Node, source: Source) -> str:
    """A definition's name: its own, its declarator's, or that of what it is assigned to."""
    if node.type in LAMBDAS and node.child_by_field_name("name") is None:
        return source.said(part(node.parent, "name", "left", "property"))
    for name in ("name", "type" if node.type == "impl_item" else "declarator"):
        if (child := node.child_by_field_name(name)) is not None:
            return source.said(innermost(child))
    spec = next((each for each in node.named_children if each.type.endswith(("_spec", "_alias"))), None)
    return source.said(spec.child_by_field_name("name")) if spec else ""


def part(node: Node | None, *names: str) -> Node | None:
    """The first of its fields that there is."""
    return next((each for name in names if node and (each := node.child_by_field_name(name))), None)


def innermost(node: Node) -> Node:
    """What a C declarator declares, without pointers and parameters."""
    for _ in range(DEEPEST):
        inner = node.child_by_field_name("declarator")
        if inner is None:
            return node
        node = inner
    return node


def receiver(node: Node, source: Source) -> str:
    """The type of a Go method, from `func (s *Server) Close()`."""
    said = source.said(node.child_by_field_name("receiver"))
    words = re.findall(r"[^\W\d]\w*", said)
    return words[1] if len(words) > 1 else "".join(words[:1])
