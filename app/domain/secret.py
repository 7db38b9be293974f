"""What looks like a secret: files by their names, and keys and tokens inside of texts.

A file that is a secret by its name is not read, or, where it is given, keeps its names alone. In other texts
what has the shape of a private key or of a well-known kind of token is written over, line by line, so that
nothing moves; of what is assigned to a secret's name, or stands in an address, the value. Shapes are those
that their makers publish; a short password without a shape is not found. Pure; raises nothing.
"""

import re
from pathlib import PurePosixPath

NAMES = re.compile(
    r"""(?ix) \.env(\..+)? | .*\.env | \.envrc | id_(rsa|dsa|ecdsa|ed25519)(_sk)?(\..*)?
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
BODY = r"(?:[^-]|-(?!----))"
KEY = (
    rf"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----(?={BODY}{{0,400}}[A-Za-z0-9+/]{{32}})"
    rf"{BODY}{{32,20000}}(?:-----END [A-Z0-9 ]*-----|\Z)"
)
"""With something in it: programs that look for keys name their first line too."""
WEB = r"\beyJ[A-Za-z0-9_\-]{10,}\.eyJ[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-]{10,}"
MIXED = r"(?=[A-Za-z0-9_\-]*\d)(?=[A-Za-z0-9_\-]*[A-Z])"
"""Names of styles have neither digits nor capitals."""
AWS = (
    r"(?i:secret[-_.]?(?:access[-_.]?)?key)[\"']?\s{0,9}(?:=>|:=|[:=])\s{0,9}[\"']?"
    r"(?P<value>(?=[^\s\"']*\d)(?=[^\s\"']*[A-Z])[A-Za-z0-9/+=]{40})(?![A-Za-z0-9/+=])"
)
GIVEN = (
    r"(?i:{})[\w\-]{{0,40}}[\"']?\]?\s{{0,9}}(?:=>|:=|[:=])\s{{0,9}}(?P<quote>[\"'])"
    r"(?P<value>(?=[^\"'\d]*\d[^\"'\d]*\d)(?=[^\"'A-Z]*[A-Z])(?=[^\"'a-z]*[a-z])(?![^\"']*[a-z]{{7}})"
    r"[A-Za-z0-9+/=_\-!@#%^&]{{20,200}})(?P=quote)"
)
"""A name that says it, and a value that nobody would say: long, with digits and capitals, and no word."""
ADDRESS = (
    r"://(?P<user>[^\s:/@\"'`<>{}]{0,100}):"
    r"(?P<value>(?!(?P=user)@|(?i:pass|passwd|password|pwd|pw|secret|token|key|x+|\.+)@)"
    r"(?![$#\[*(%])[^\s:/@\"'`<>{}]{1,200})@(?!sha256:)"
)
"""`scheme://user:password@host`; not where something is still to be filled in."""
SHAPES = (
    ("private key", "PRIVATE KEY", re.compile(KEY)),
    ("AWS key", "AKIA", re.compile(r"\bAKIA[0-9A-Z]{16}\b")),
    ("AWS key", "ASIA", re.compile(r"\bASIA[0-9A-Z]{16}\b")),
    ("GitHub token", "gh", re.compile(r"gh(?<!\wgh)[pousr]_[A-Za-z0-9]{36,255}")),
    ("GitHub token", "github_pat_", re.compile(r"\bgithub_pat_[A-Za-z0-9_]{50,255}")),
    ("GitLab token", "glpat-", re.compile(r"\bglpat-[A-Za-z0-9_\-]{20,}")),
    ("Slack token", "xox", re.compile(r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}")),
    ("Slack hook", "hooks.slack.com", re.compile(r"hooks\.slack\.com/services/[A-Za-z0-9/]{20,}")),
    ("Google key", "AIza", re.compile(r"\bAIza[0-9A-Za-z_\-]{35}")),
    ("Stripe key", "k_live_", re.compile(r"\b[sr]k_live_[0-9A-Za-z]{16,}")),
    ("model provider's key", "sk-", re.compile(rf"\bsk-(?:[a-z]+-){{0,3}}{MIXED}[A-Za-z0-9_\-]{{32,}}")),
    ("Hugging Face token", "hf_", re.compile(r"\bhf_[A-Za-z0-9]{30,}\b")),
    ("npm token", "npm_", re.compile(r"\bnpm_[A-Za-z0-9]{36}\b")),
    ("PyPI token", "pypi-", re.compile(r"\bpypi-AgE[A-Za-z0-9_\-]{50,}")),
    ("SendGrid key", "SG.", re.compile(r"\bSG\.[A-Za-z0-9_\-]{22}\.[A-Za-z0-9_\-]{43}")),
    (
        "web token",
        "eyJ",
        re.compile(WEB),
    ),
    ("Ibid key", "ibid_", re.compile(r"\bibid_\w[\w.\-]{0,200}_[0-9a-f]{48}\b")),
    ("AWS key", "secret", re.compile(AWS)),
    ("registry login", '"auth"', re.compile(r'"auth"\s{0,9}:\s{0,9}"(?P<value>[A-Za-z0-9+/=]{16,2000})"')),
    ("private key", "client-key-data", re.compile(r"client-key-data:\s{0,9}(?P<value>[A-Za-z0-9+/=]{64,})")),
    ("password in an address", "://", re.compile(ADDRESS)),
    *((f"assigned {sign}", sign, re.compile(GIVEN.format(sign))) for sign in ("secret", "token", "password")),
    *(("assigned key", kind, re.compile(GIVEN.format(rf"{kind}[-_]?key"))) for kind in ("api", "access")),
)
"""What it is, a sign without which there is none (looked for a hundred times faster; in small letters:
however it is written), and its shape; where that has a value, all else of it stays."""
LINE = re.compile(r"(?m)^([^\S\n]*(?:export[^\S\n]+)?[\w.\-]{1,100}[^\S\n]*[=:])?[^\n]*$")


def is_secret(path: str) -> bool:
    """Whether a file is one by its name, or by the folder it is kept in."""
    *folders, name = PurePosixPath(path).parts or ("",)
    named = NAMES.fullmatch(name) and not OPEN.fullmatch(name)
    return bool(named) or not FOLDERS.isdisjoint(folders) or (*folders[-1:], name) in PLACES


def masked(text: str) -> tuple[str, tuple[str, ...]]:
    """The text with its secrets written over, and of which kinds they were."""
    kinds: dict[str, None] = {}
    small = text.lower()
    for kind, sign, shape in SHAPES:
        if sign in (small if sign.islower() else text):
            text, count = shape.subn(covered, text)
            kinds |= {kind: None} if count else {}
    return text, tuple(kinds)


def keepable(path: str, text: str) -> str:
    """What may be kept of a text that was given: without its secrets; of a secret by name, names alone."""
    if is_secret(path):
        return LINE.sub(lambda found: f"{found[1] or ''}{COVER}" if found[0].strip() else found[0], text)
    return masked(text)[0]


def covered(found: re.Match[str]) -> str:
    """Each line's own cover: what stands below keeps its line number."""
    whole = found[0]
    if "value" not in found.groupdict():
        return re.sub(r"\S+(?:[^\S\n]+\S+)*", COVER, whole)
    begin, end = (at - found.start() for at in found.span("value"))
    return f"{whole[:begin]}{COVER}{whole[end:]}"
