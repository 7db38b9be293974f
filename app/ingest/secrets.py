"""Secrets: files that hold them, by name, and keys and tokens in texts, by the formats that their issuers
publish.

A file that is a secret by its name is not read; if it is sent, only the names in its lines are kept. In other
texts private keys and known tokens are masked, line by line, so that line numbers stay; of an assignment or a
URL only the value is masked. A short password without a known format is not found. Pure; raises nothing.
"""

import re
from collections.abc import Callable
from functools import partial
from pathlib import PurePosixPath
from typing import NamedTuple

SECRET_NAMES = re.compile(
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
HARMLESS_NAMES = re.compile(
    r"(?i).*\.(example|sample|template|dist|tpl)(\..*)?|id_\w+\.pub|public.*\.(pem|key|asc)"
)
"""Templates and public keys."""
SECRET_PATHS = frozenset({(".docker", "config.json"), ("gh", "hosts.yml")})
"""(folder, name) of files with common names."""
SECRET_FOLDERS = frozenset({".ssh", ".gnupg", ".aws", ".azure", ".kube"})
MASK = "***"
MAX_PART = 11
"""Characters of a part of a name that may contain digits; a longer one may be a value."""
NAME_CHARS = 256
"""Characters at either end of a file name that are looked at."""
KEY_BODY = r"(?:[^-]|-(?!----))"
PRIVATE_KEY = (
    r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,5}PRIVATE KEY(?: BLOCK)?-----"
    rf"(?>{KEY_BODY}{{32,20000}})(?:-----END [A-Z0-9 ]{{0,100}}-----|\Z)"
)
HAS_KEY_BODY = re.compile(r"-----[^-]*-----[\s\S]{0,400}?[A-Za-z0-9+/]{32}")
"""Programs that look for keys contain the first line too."""
JWT = (
    r"(?<![\w\-])(?:[A-Za-z0-9_]{1,40}+-){0,3}?(?P<value>"
    r"eyJ[A-Za-z0-9_\-]{10,}+\.eyJ[A-Za-z0-9_\-]{10,}+\.[A-Za-z0-9_\-]{10,}+)"
)
"""Starts only where a word starts: of `-eyJ-eyJ…` each would be read to the end."""
IBID_KEY_END = re.compile(r"_[0-9a-f]{48}\b")
ASSIGN = r"[\"']?+{}\s{{0,9}}+(?:=>|:=|[:=])\s{{0,9}}+"
AWS_SECRET = (
    r"(?i:secret[-_.]?(?:access[-_.]?)?key)" + ASSIGN.format("") + r"[\"']?"
    r"(?P<value>[A-Za-z0-9/+=]{40})(?![A-Za-z0-9/+=])"
)
ASSIGNMENT = (
    r"(?i:%s)[\w\-]{0,40}+" + ASSIGN.format(r"\]?+") + r"(?P<quote>[\"'])"
    r"(?P<value>[A-Za-z0-9+/=_\-!@#%%^&]{20,200}+)(?P=quote)"
)
"""A telling name, and a value that looks random (`is_random`)."""
URL_LOGIN = (
    r"://(?P<user>[^\s:/@\"'`<>{}]{0,100}+):"
    r"(?P<value>(?!(?P=user)@|(?i:pass|passwd|password|pwd|pw|secret|token|key|x++|\.++)@)"
    r"(?![$#\[*(%])[^\s:/@\"'`<>{}]{1,200}+)@(?!sha256:)"
)
"""`scheme://user:password@host`, but not a placeholder."""


def is_mixed(value: str) -> bool:
    """True if a value has digits and capitals; names of CSS classes have neither."""
    return bool(re.search(r"\d", value) and re.search("[A-Z]", value))


def is_random(value: str) -> bool:
    """True if a value has several digits, letters in both cases, and no word."""
    lower, word = re.search("[a-z]", value), re.search("[a-z]{7}", value)
    return is_mixed(value) and len(re.findall(r"\d", value)) > 1 and bool(lower) and not word


class Format(NamedTuple):
    """A kind of secret. Patterns take linear time on any text: they read on from few places, and what is hard
    to express is checked on the match (`check`)."""

    kind: str
    keyword: str
    """Part of every match, searched first because that is a hundred times faster; lower case: in any case."""
    pattern: re.Pattern[str]
    """With a group `value`, only that is masked."""
    check: Callable[[str], object] = bool
    """Of the value, or of the match if there is none."""


FORMATS = (
    Format("private key", "PRIVATE KEY", re.compile(PRIVATE_KEY), HAS_KEY_BODY.match),
    Format("AWS key", "AKIA", re.compile(r"\bAKIA[0-9A-Z]{16}\b")),
    Format("AWS key", "ASIA", re.compile(r"\bASIA[0-9A-Z]{16}\b")),
    Format("GitHub token", "gh", re.compile(r"gh(?<!\wgh)[pousr]_[A-Za-z0-9]{36,255}")),
    Format("GitHub token", "github_pat_", re.compile(r"\bgithub_pat_[A-Za-z0-9_]{50,255}")),
    Format("GitLab token", "glpat-", re.compile(r"\bglpat-[A-Za-z0-9_\-]{20,}")),
    Format("Slack token", "xox", re.compile(r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}")),
    Format("Slack hook", "hooks.slack.com", re.compile(r"hooks\.slack\.com/services/[A-Za-z0-9/]{20,}")),
    Format("Google key", "AIza", re.compile(r"\bAIza[0-9A-Za-z_\-]{35}")),
    Format("Stripe key", "k_live_", re.compile(r"\b[sr]k_live_[0-9A-Za-z]{16,}")),
    Format("model provider's key", "sk-", re.compile(r"\bsk-[A-Za-z0-9_\-]{32,}+"), is_mixed),
    Format("Hugging Face token", "hf_", re.compile(r"\bhf_[A-Za-z0-9]{30,}+\b")),
    Format("npm token", "npm_", re.compile(r"\bnpm_[A-Za-z0-9]{36}\b")),
    Format("PyPI token", "pypi-", re.compile(r"\bpypi-AgE[A-Za-z0-9_\-]{50,}")),
    Format("SendGrid key", "SG.", re.compile(r"\bSG\.[A-Za-z0-9_\-]{22}\.[A-Za-z0-9_\-]{43}")),
    Format("web token", "eyJ", re.compile(JWT)),
    Format("Ibid key", "ibid_", re.compile(r"\bibid_\w[\w.\-]{48,}+"), IBID_KEY_END.search),
    Format("AWS key", "secret", re.compile(AWS_SECRET), is_mixed),
    Format(
        "registry login",
        '"auth"',
        re.compile(r'"auth"\s{0,9}+:\s{0,9}+"(?P<value>[A-Za-z0-9+/=]{16,2000}+)"'),
    ),
    Format(
        "private key",
        "client-key-data",
        re.compile(r"client-key-data:\s{0,9}+(?P<value>[A-Za-z0-9+/=]{64,})"),
    ),
    Format("password in an address", "://", re.compile(URL_LOGIN)),
    *(
        Format(f"assigned {sign}", sign, re.compile(ASSIGNMENT % sign), is_random)
        for sign in ("secret", "token", "password")
    ),
    *(
        Format("assigned key", kind, re.compile(ASSIGNMENT % f"{kind}[-_]?key"), is_random)
        for kind in ("api", "access")
    ),
)
ASSIGNMENT_LINE = re.compile(
    r"(?m)^([^\S\n]*+(?:export[^\S\n]++)?+(?P<name>[\w.\-]{1,39}+)[^\S\n]*+[=:](?=[^\S\n]*+[^\s=]))?[^\n]*+$"
)
"""`name=` with something after it: a value may end in the sign as well (base64)."""


def is_secret(path: str) -> bool:
    *folders, name = PurePosixPath(path).parts or ("",)
    if len(name) > 2 * NAME_CHARS:
        name = name[:NAME_CHARS] + name[-NAME_CHARS:]
    if SECRET_NAMES.fullmatch(name) and not HARMLESS_NAMES.fullmatch(name):
        return True
    return not SECRET_FOLDERS.isdisjoint(folders) or (*folders[-1:], name) in SECRET_PATHS


def mask(text: str) -> tuple[str, tuple[str, ...]]:
    kinds: dict[str, None] = {}
    lower = text.lower()
    for known in FORMATS:
        if known.keyword in (lower if known.keyword.islower() else text):
            before, text = text, known.pattern.sub(partial(mask_match, known), text)
            if text != before:
                kinds[known.kind] = None
    return text, tuple(kinds)


def mask_file(path: str, text: str) -> str:
    if is_secret(path):
        return ASSIGNMENT_LINE.sub(mask_line, text)
    return mask(text)[0]


def mask_line(found: re.Match[str]) -> str:
    if not found[0].strip():
        return found[0]
    assignment = found[1] or ""
    return f"{'' if may_be_value(found['name'] or '') else assignment}{MASK}"


def may_be_value(name: str) -> bool:
    """True if a name may be the start of a value: digits among letters of both cases, or in a long part."""
    if is_mixed(name) and re.search("[a-z]", name):
        return True
    return any(len(part) > MAX_PART and re.search(r"\d", part) for part in re.split(r"[_.\-]", name))


def mask_match(known: Format, found: re.Match[str]) -> str:
    """A match of a format, each of its lines masked by itself, so that line numbers stay."""
    whole, has_value = found[0], "value" in found.re.groupindex
    if not known.check(found["value"] if has_value else whole):
        return whole
    if not has_value:
        return re.sub(r"\S+(?:[^\S\n]+\S+)*", MASK, whole)
    start, end = (at - found.start() for at in found.span("value"))
    return f"{whole[:start]}{MASK}{whole[end:]}"
