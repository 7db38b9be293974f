"""Secrets by name, and inside of texts. The examples are made here: no key of anybody."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.secret import COVER, is_secret, masked

BODY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC+/abcdefghijklmnopqrstuvwxyz0123"
PEM = f"-----BEGIN RSA PRIVATE KEY-----\n{BODY}\n{BODY}\n-----END RSA PRIVATE KEY-----"
FILLED = "Ab1" * 12
"""36 letters and digits."""


@pytest.mark.parametrize(
    "path",
    [
        ".env",
        "deploy/.env.production",
        "prod.env",
        "id_rsa",
        "home/.ssh/config",
        "certs/server.KEY",
        "tls/site.pem",
        ".npmrc",
        ".netrc",
        "credentials",
        "config/credentials.json",
        "client_secret.json",
        "secrets.yaml",
        "service-account-prod.json",
        "infra/terraform.tfstate",
    ],
)
def test_files_that_are_secrets(path: str) -> None:
    """By their names, whatever the case."""
    assert is_secret(path)


@pytest.mark.parametrize(
    "path",
    [
        ".env.example",
        "env.py",
        "app/domain/secret.py",
        "credentials.py",
        "docs/keys.md",
        "id_rsa.pub",
        "public_key.pem",
        "keyboard.c",
        "secrets_test.go",
        "Makefile",
    ],
)
def test_files_that_only_sound_like_it(path: str) -> None:
    """Programs that handle secrets, patterns to be filled in, public halves."""
    assert not is_secret(path)


@pytest.mark.parametrize(
    ("kind", "secret"),
    [
        ("private key", PEM),
        ("private key", PEM.replace("\n", "\\n")),
        ("AWS key", "AKIA" + "ABCDEFGH12345678"),
        ("GitHub token", "ghp_" + FILLED),
        ("GitHub token", "github_pat_" + FILLED * 2),
        ("GitLab token", "glpat-" + FILLED),
        ("Slack token", "xoxb-1234567890-" + FILLED),
        ("Google key", "AIza" + FILLED[:35]),
        ("Stripe key", "sk_live_" + FILLED),
        ("model provider's key", "sk-proj-" + FILLED),
        ("Hugging Face token", "hf_" + FILLED),
        ("npm token", "npm_" + FILLED),
        ("web token", f"eyJ{FILLED}.eyJ{FILLED}.{FILLED}"),
        ("Ibid key", "ibid_acme_co_" + "0123456789abcdef" * 3),
    ],
)
def test_a_secret_in_a_text_is_written_over(kind: str, secret: str) -> None:
    """Nothing of it is left, nothing else is touched, and every line keeps its number."""
    text, kinds = masked(f'before\nkey = "{secret}"\nafter\n')

    assert kinds == (kind,)
    assert FILLED not in text
    assert BODY not in text
    assert COVER in text
    assert text.startswith('before\nkey = "')
    assert text.endswith('"\nafter\n')
    assert text.count("\n") == 3 + secret.count("\n")


@pytest.mark.parametrize(
    "text",
    [
        'if "-----BEGIN PRIVATE KEY-----" in text:\n    raise ValueError("-----END PRIVATE KEY-----")\n',
        ".sk-estimator-doc-link-with-a-very-long-name-indeed { color: red }\n",
        "task-0123456789ABCDEF0123456789ABCDEF0123\n",
        "AKIA\n",
        "# a password = hunter2 has no shape\n",
    ],
)
def test_what_only_speaks_of_secrets_stays(text: str) -> None:
    """To the letter."""
    assert masked(text) == (text, ())


def test_a_key_without_an_end_is_covered_too() -> None:
    """A text may have been cut."""
    text, kinds = masked(PEM[:110])

    assert kinds == ("private key",)
    assert BODY[:20] not in text


@given(st.text(max_size=300))
def test_masking_again_changes_nothing(text: str) -> None:
    """What is covered has no shape."""
    once, _ = masked(text + PEM)

    assert masked(once) == (once, ())
