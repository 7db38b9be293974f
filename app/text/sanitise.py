"""Makes names and texts safe for a prompt. Every name passes through `sanitise_name`, every text through
`sanitise_text` or one of its forms: `one_line` for a single line, `quote` for a JSON string.

A text keeps its words; what a screen does not show and what a chat template or a tokenizer reads as its own
mark is escaped as JSON does (`\\u003c|im_start|>`), so that the model still sees that it was there. A name is
one short line without the signs that could end its place. Nothing here raises.
"""

import json
import re
import unicodedata

import orjson

NAME_MOST = 140
"""Characters of a name: a label of 160 keeps 17 for the id, as in `#L100000-100042`."""

# Full-width and lenticular forms too: models write them for the plain ones, and the citation filter reads
# them so. A backtick would open inline code in the middle of a marker.
PLAIN = str.maketrans('[]【】［］〔〕﹇﹈<>＜＞#＃﹟`"＂', "()" * 7 + "---'''")
"""What could end a name's place, or open one of its own, and what stands for it."""
JOINERS = "\u200c\u200d\ufe0f"
"""Invisible, but emoji and Persian are misspelt without them: kept inside a name, never at its ends."""
JOINED = frozenset({"Lo", "Lm", "Mn", "Mc", "So", "Sk"})
"""Categories behind which a joiner belongs: letters without case, their marks, emoji. Behind a Latin letter
it only makes two names look alike."""
SMUGGLERS = range(0xE0100, 0xE01F0)
"""Selectors that a name does without."""
UNSEEN = re.compile(
    "[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2060-\u2065\u206a-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0080-\U000e0fff]+"
)
"""Characters without width: dropped unless they belong where they stand (`_belongs`)."""
KEYS = frozenset("0123456789#*")
SELECTORS = re.compile("[\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")

TOKENS = "bos|eos|pad|unk|sep|cls|mask|think|thinking|thought|reasoning|turn|sys|system|user|assistant|human"
CALLS = "tool|tools|toolcall|function|functions|invoke|parameter"
ONE = f"s|{TOKENS}|{CALLS}|{TOKENS.upper()}|{CALLS.upper()}"
"""Single words that templates put between angle brackets."""
ANGLE = (
    # <|im_start|>, <｜User｜>, <channel|>; F# and Haskell write `<|` before a blank, `>` or `)`.
    # White space that is escaped below is none afterwards.
    r"[|｜](?:[^\s>)]|[\x0b\x0c\x1c-\x1f\x85\u2028\u2029]|\r(?!\n))|/?[\w:.-]{1,40}[|｜]>"
    # <think>, </s>, <tool_call>, <start_of_turn>, <function=…>, <invoke name=…>
    rf"|/?(?:[A-Za-z0-9]{{1,40}}+[_:]){{0,8}}(?:{ONE})(?:[_:][A-Za-z0-9]{{1,40}}+){{0,8}}"
    r"(?:\s{0,8}/?>|=[^\s=]|\s{1,8}[\w:.-]{1,40}=)"
    # Any other of several words, <arg_key>; not behind a name: `vector<size_t>`.
    r"|(?:(?<!\w<)|(?<=\\[nrt]<))/?[A-Za-z0-9]{1,40}+(?:_[A-Za-z0-9]{1,40}+){1,8}/?>"
)
SQUARE = (
    # [INST], [/INST], [SYSTEM_PROMPT], [TOOL_CALLS], [|system|]
    r"[|｜]\w{1,40}[|｜]\]|/?(?:[A-Z]{1,40}_){0,8}"
    r"(?:INST|SYSTEM|TOOLS?|THINK|ARGS|IMG|AUDIO|PREFIX|MIDDLE|SUFFIX|[gs]?MASK|BOS|EOS|PAD|UNK|CLS|SEP)"
    r"(?:_[A-Z0-9]{1,40}+){0,8}\]"
    # Any other of several words; not behind a name: `buffer[MAX_LENGTH]`.
    r"|(?:(?<!\w\[)|(?<=\\[nrt]\[))/?[A-Z]{1,40}+(?:_[A-Z0-9]{1,40}+){1,8}\]"
)
UNSAFE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
    r"\U000e0000-\U000e007f<\[]"
    rf"(?:(?<![\r<\[])|(?<=\r)(?!\n)|(?<=<)(?={ANGLE})|(?<=\[)(?={SQUARE}))"
)
"""Controls (but for the tabulator and line breaks), direction marks, tag characters, halves of characters;
and the opening of a mark of a chat template. It is the same in a text and in its JSON form."""
JSON = json.JSONEncoder(ensure_ascii=False)


def sanitise_text(text: str) -> str:
    """A text as it may stand in a prompt, its lines as they are."""
    return UNSAFE.sub(_escaped, _seen(text))


def one_line(text: str) -> str:
    """The same on one line; white space is a blank."""
    return sanitise_text(" ".join(text.split()))


def quote(text: str) -> str:
    """The same as a JSON string: one line that reads back to the text, and whose own quotes cannot end it."""
    seen = _seen(text)
    try:
        said = orjson.dumps(seen).decode()
    except TypeError:  # half of a character
        said = JSON.encode(seen)
    # In ASCII JSON nothing else can begin what is UNSAFE; to look for that takes a tenth of the time.
    suspect = not said.isascii() or "<" in said or "[" in said or "\x7f" in said
    return UNSAFE.sub(_escaped, said) if suspect else said


def sanitise_name(name: str, most: int | None = NAME_MOST) -> str:
    """A name on one line of at most `most` characters (None: any number), in NFC, without brackets, quotes
    and `#`, and without what cannot be seen; "" if nothing is left. Idempotent."""
    if name.isascii() and name.isprintable():
        return " ".join(name.translate(PLAIN).split())[:most].strip()
    # Where something was dropped, what is now side by side may compose, and move what a joiner belongs to.
    while (told := _named(name)) != name:
        name = told
    return name[:most].strip(JOINERS + " ")


def _named(name: str) -> str:
    """One pass over a name."""
    plain = unicodedata.normalize("NFC", name).translate(PLAIN)
    shown = " ".join("".join(map(_visible, plain)).split())
    return _seen(unicodedata.normalize("NFC", shown))


def _visible(sign: str) -> str:
    """A character as a name may hold it: a space for separators and controls, "" for the invisible."""
    category = unicodedata.category(sign)
    if category in {"Cc", "Zs", "Zl", "Zp"}:
        return " "
    if category == "Cs":
        return "_"  # a lone surrogate has no UTF-8 form
    hidden = (category == "Cf" and sign not in JOINERS) or ord(sign) in SMUGGLERS
    return "" if hidden else sign


def _seen(text: str) -> str:
    """Without characters that have no width and do not belong where they stand."""
    return text if text.isascii() else UNSEEN.sub(_belonging, text)


def _belonging(found: re.Match[str]) -> str:
    """What of a run of such characters belongs where it stands; nobody sees the rest."""
    text, start, end = found.string, found.start(), found.end()
    before, after = text[max(0, start - 1) : start], text[end : end + 1]
    kept = ""
    for sign in found[0]:
        kept += sign if _belongs(sign, kept[-1:] or before, after) else ""
    return kept


def _belongs(sign: str, before: str, after: str) -> bool:
    """A joiner belongs behind a letter without case, a mark or an emoji (Persian, Indic, emoji sequences); a
    selector, one of them, behind what is seen and beyond ASCII, or in a keycap (`1️⃣`)."""
    category = unicodedata.category(before) if before else ""
    if SELECTORS.match(sign):
        based = before > "\x7f" and category[0] not in "CZ" and not SELECTORS.match(before)
        return based or (after == "\u20e3" and before in KEYS)
    return sign in JOINERS and category in JOINED


def _escaped(found: re.Match[str]) -> str:
    """As JSON escapes it: `\\u2028`."""
    return json.dumps(found[0])[1:-1] if found[0] > "\x7f" else f"\\u{ord(found[0]):04x}"
