"""What looks like a secret: files by their names, and keys and tokens inside of texts.

A file that is a secret by its name is not read, or, where it is given, keeps its names alone. In other texts
what has the shape of a private key or of a well-known kind of token is written over, line by line, so that
nothing moves; of what is assigned to a secret's name, or stands in an address, the value. Shapes are those
that their makers publish; a short password without a shape is not found. Pure; raises nothing.
"""

import re
from collections.abc import Callable
from functools import partial
from pathlib import PurePosixPath
from typing import NamedTuple

NAMES = re.compile(
    r"""(?isx) \.env(\..+)? | .*\.env | \.envrc | id_(rsa|dsa|ecdsa|ed25519)(_sk)?(\..*)?
    | .*\.(pem|key|p12|pfx|pkcs12|p8|jks|keystore|kdbx?|ppk|asc|gpg|ovpn|age)
    | .*\.(tfstate(\..*)?|tfvars(\.json)?|kubeconfig(\.ya?ml)?)
    | kubeconfig([-_][^.]*)?(\.(ya?ml|json|conf))? | \.?(rclone\.conf|dockerconfigjson|terraformrc)
    | \.?(netrc|npmrc|pypirc|pgpass|htpasswd|git-credentials|dockercfg|s3cfg|boto|my\.cnf)
    | \.?vault[-_](pass(word)?|token)(\..*)?
    | (aws_?|application_default_)?credentials(\.(json|ya?ml|toml|ini|cfg|csv|xml|properties))?
    | (client_?)?secrets?(\.[a-z0-9]+)?\.(json|ya?ml|toml|ini|cfg|properties|txt|env)
    | service[-_]?account.*\.json | .*-key\.json | authorized_keys"""
)
OPEN = re.compile(r"(?i).*\.(example|sample|template|dist|tpl)(\..*)?|id_\w+\.pub|public.*\.(pem|key|asc)")
"""Patterns to be filled in, and what is public."""
PLACES = frozenset({(".docker", "config.json"), ("gh", "hosts.yml")})
"""Common names that are secrets in one folder."""
FOLDERS = frozenset({".ssh", ".gnupg", ".aws", ".azure", ".kube"})
COVER = "***"
PART = 11
"""Characters of a part of a name that may have digits in it."""
LONGEST = 256
"""Characters of a name that are looked at, at either end."""
BODY = r"(?:[^-]|-(?!----))"
KEY = (
    r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,5}PRIVATE KEY(?: BLOCK)?-----"
    rf"(?>{BODY}{{32,20000}})(?:-----END [A-Z0-9 ]{{0,100}}-----|\Z)"
)
FILLED = re.compile(r"-----[^-]*-----[\s\S]{0,400}?[A-Za-z0-9+/]{32}")
"""With something in it: programs that look for keys name their first line too."""
WEB = (
    r"(?<![\w\-])(?:[A-Za-z0-9_]{1,40}+-){0,3}?(?P<value>"
    r"eyJ[A-Za-z0-9_\-]{10,}+\.eyJ[A-Za-z0-9_\-]{10,}+\.[A-Za-z0-9_\-]{10,}+)"
)
"""Begun where a word begins alone: of `-eyJ-eyJ…` each would be read to the end."""
IBID = re.compile(r"_[0-9a-f]{48}\b")
IS = r"[\"']?+{}\s{{0,9}}+(?:=>|:=|[:=])\s{{0,9}}+"
AWS = (
    r"(?i:secret[-_.]?(?:access[-_.]?)?key)" + IS.format("") + r"[\"']?"
    r"(?P<value>[A-Za-z0-9/+=]{40})(?![A-Za-z0-9/+=])"
)
GIVEN = (
    r"(?i:%s)[\w\-]{0,40}+" + IS.format(r"\]?+") + r"(?P<quote>[\"'])"
    r"(?P<value>[A-Za-z0-9+/=_\-!@#%%^&]{20,200}+)(?P=quote)"
)
"""A name that says it, and a value that nobody would say (`unsaid`)."""
ADDRESS = (
    r"://(?P<user>[^\s:/@\"'`<>{}]{0,100}+):"
    r"(?P<value>(?!(?P=user)@|(?i:pass|passwd|password|pwd|pw|secret|token|key|x++|\.++)@)"
    r"(?![$#\[*(%])[^\s:/@\"'`<>{}]{1,200}+)@(?!sha256:)"
)
"""`scheme://user:password@host`; not where something is still to be filled in."""


def mixed(value: str) -> bool:
    """Names of styles have neither digits nor capitals."""
    return bool(re.search(r"\d", value) and re.search("[A-Z]", value))


def unsaid(value: str) -> bool:
    """Long, with digits and capitals, and no word."""
    small, word = re.search("[a-z]", value), re.search("[a-z]{7}", value)
    return mixed(value) and len(re.findall(r"\d", value)) > 1 and bool(small) and not word


class Shape(NamedTuple):
    """All of them take time as the text has length, whatever it says: a shape has no condition that reads on
    and on from every beginning; what is hard to say of it is asked of what was found (`holds`)."""

    kind: str
    sign: str
    """Without which there is none: looked for a hundred times faster; in small letters: however written."""
    pattern: re.Pattern[str]
    """Where it has a value, all else of it stays."""
    holds: Callable[[str], object] = bool
    """Of the value, or of all where there is none."""


SHAPES = (
    Shape("private key", "PRIVATE KEY", re.compile(KEY), FILLED.match),
    Shape("AWS key", "AKIA", re.compile(r"\bAKIA[0-9A-Z]{16}\b")),
    Shape("AWS key", "ASIA", re.compile(r"\bASIA[0-9A-Z]{16}\b")),
    Shape("GitHub token", "gh", re.compile(r"gh(?<!\wgh)[pousr]_[A-Za-z0-9]{36,255}")),
    Shape("GitHub token", "github_pat_", re.compile(r"\bgithub_pat_[A-Za-z0-9_]{50,255}")),
    Shape("GitLab token", "glpat-", re.compile(r"\bglpat-[A-Za-z0-9_\-]{20,}")),
    Shape("Slack token", "xox", re.compile(r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}")),
    Shape("Slack hook", "hooks.slack.com", re.compile(r"hooks\.slack\.com/services/[A-Za-z0-9/]{20,}")),
    Shape("Google key", "AIza", re.compile(r"\bAIza[0-9A-Za-z_\-]{35}")),
    Shape("Stripe key", "k_live_", re.compile(r"\b[sr]k_live_[0-9A-Za-z]{16,}")),
    Shape("model provider's key", "sk-", re.compile(r"\bsk-[A-Za-z0-9_\-]{32,}+"), mixed),
    Shape("Hugging Face token", "hf_", re.compile(r"\bhf_[A-Za-z0-9]{30,}+\b")),
    Shape("npm token", "npm_", re.compile(r"\bnpm_[A-Za-z0-9]{36}\b")),
    Shape("PyPI token", "pypi-", re.compile(r"\bpypi-AgE[A-Za-z0-9_\-]{50,}")),
    Shape("SendGrid key", "SG.", re.compile(r"\bSG\.[A-Za-z0-9_\-]{22}\.[A-Za-z0-9_\-]{43}")),
    Shape("web token", "eyJ", re.compile(WEB)),
    Shape("Ibid key", "ibid_", re.compile(r"\bibid_\w[\w.\-]{48,}+"), IBID.search),
    Shape("AWS key", "secret", re.compile(AWS), mixed),
    Shape(
        "registry login",
        '"auth"',
        re.compile(r'"auth"\s{0,9}+:\s{0,9}+"(?P<value>[A-Za-z0-9+/=]{16,2000}+)"'),
    ),
    Shape(
        "private key",
        "client-key-data",
        re.compile(r"client-key-data:\s{0,9}+(?P<value>[A-Za-z0-9+/=]{64,})"),
    ),
    Shape("password in an address", "://", re.compile(ADDRESS)),
    *(
        Shape(f"assigned {sign}", sign, re.compile(GIVEN % sign), unsaid)
        for sign in ("secret", "token", "password")
    ),
    *(
        Shape("assigned key", kind, re.compile(GIVEN % f"{kind}[-_]?key"), unsaid)
        for kind in ("api", "access")
    ),
)
LINE = re.compile(
    r"(?m)^([^\S\n]*+(?:export[^\S\n]++)?+(?P<name>[\w.\-]{1,39}+)[^\S\n]*+[=:](?=[^\S\n]*+[^\s=]))?[^\n]*+$"
)
"""`name=` where something follows: what ends in the sign is the end of a value as well (base64)."""


def is_secret(path: str) -> bool:
    """Whether a file is one by its name, or by the folder it is kept in."""
    *folders, name = PurePosixPath(path).parts or ("",)
    if len(name) > 2 * LONGEST:
        name = name[:LONGEST] + name[-LONGEST:]
    named = NAMES.fullmatch(name) and not OPEN.fullmatch(name)
    return bool(named) or not FOLDERS.isdisjoint(folders) or (*folders[-1:], name) in PLACES


def masked(text: str) -> tuple[str, tuple[str, ...]]:
    """The text with its secrets written over, and of which kinds they were."""
    kinds: dict[str, None] = {}
    small = text.lower()
    for shape in SHAPES:
        if shape.sign in (small if shape.sign.islower() else text):
            before, text = text, shape.pattern.sub(partial(covered, shape), text)
            kinds |= {shape.kind: None} if text != before else {}
    return text, tuple(kinds)


def keepable(path: str, text: str) -> str:
    """What may be kept of a text that was given: without its secrets; of a secret by name, names alone."""
    if is_secret(path):
        return LINE.sub(named, text)
    return masked(text)[0]


def named(found: re.Match[str]) -> str:
    """A line's name, and a cover."""
    if not found[0].strip():
        return found[0]
    name = found["name"] or ""
    return f"{'' if valued(name) else found[1] or ''}{COVER}"


def valued(name: str) -> bool:
    """Whether a name is a value's beginning: digits among letters of both kinds, or in a long part."""
    if mixed(name) and re.search("[a-z]", name):
        return True
    return any(len(part) > PART and re.search(r"\d", part) for part in re.split(r"[_.\-]", name))


def covered(shape: Shape, found: re.Match[str]) -> str:
    """Each line's own cover: what stands below keeps its line number."""
    whole, valued = found[0], "value" in found.re.groupindex
    if not shape.holds(found["value"] if valued else whole):
        return whole
    if not valued:
        return re.sub(r"\S+(?:[^\S\n]+\S+)*", COVER, whole)
    begin, end = (at - found.start() for at in found.span("value"))
    return f"{whole[:begin]}{COVER}{whole[end:]}"
