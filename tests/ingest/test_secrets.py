"""Secrets by name, and inside of texts. The examples are made here: no key of anybody."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.ingest.secrets import MASK, is_secret, mask, mask_file

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
        "terraform.tfstate.1700000000.backup",
        "terraform.tfvars",
        "prod.auto.tfvars.json",
        "home/.docker/config.json",
        "kubeconfig.yaml",
        "prod.kubeconfig",
        "application_default_credentials.json",
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
        "config.json",
        ".docker/Dockerfile",
        "kubeconfig.go",
        "terraform.tfvars.example",
        "main.tf",
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
    text, kinds = mask(f'before\nkey = "{secret}"\nafter\n')

    assert kinds == (kind,)
    assert FILLED not in text
    assert BODY not in text
    assert MASK in text
    assert text.startswith('before\nkey = "')
    assert text.endswith('"\nafter\n')
    assert text.count("\n") == 3 + secret.count("\n")


@pytest.mark.parametrize(
    ("kind", "before", "secret", "after"),
    [
        ("AWS key", 'AWS_SECRET_ACCESS_KEY = "', f"{FILLED}/+x9", '"'),
        ("AWS key", "aws_secret_access_key=", f"{FILLED}/+x9", ""),
        ("AWS key", "secretAccessKey: '", f"{FILLED}/+x9", "',"),
        ("password in an address", "postgres://user:", "s3cretpw", "@db:5432/x"),
        ("password in an address", "redis://:", "hunter22", "@cache"),
        ("registry login", '{"auths": {"r.io": {"auth": "', "dXNlcjpoaWRkZW4wMQ==", '"}}}'),
        ("private key", "    client-key-data: ", FILLED * 3, ""),
        ("assigned key", 'api_key = "', "Zx81kkQ9aaBBccDD0011", '"'),
        ("assigned token", 'deploy_token: "', "Zx81kkQ9aaBBccDD0011", '"'),
        ("assigned secret", "config['client_secret'] = '", "Zx81kkQ9aaBBccDD0011", "'"),
        ("assigned password", '"db_password": "', "Zx81kk!9aaBB#cDD0011", '"'),
    ],
)
def test_of_what_is_assigned_the_value_is_written_over(
    kind: str, before: str, secret: str, after: str
) -> None:
    """And what it is called stays, to be found."""
    assert mask(f"{before}{secret}{after}\n") == (f"{before}{MASK}{after}\n", (kind,))


def test_of_a_secret_file_that_is_given_names_are_left() -> None:
    """Line by line; of any other file, what is no secret."""
    text = f"# of prod\nPASSWORD=hunter2\n\nexport KEY = two words\n{BODY}\n"

    assert mask_file("deploy/.env", text) == f"{MASK}\nPASSWORD={MASK}\n\nexport KEY ={MASK}\n{MASK}\n"
    assert mask_file("app/a.py", f"x = 1\n{PEM}\n") == f"x = 1\n{MASK}\n{MASK}\n{MASK}\n{MASK}\n"


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        (f"z{FILLED}+/TmA=", MASK),
        (f"z{FILLED}+/TmA==", MASK),
        ("zSmKq81TmA=", MASK),
        ("zSmKq81TmA: x", MASK),
        ("JBSWY3DPEHPK3PXP: x", MASK),
        ("a" * 40 + "=x", MASK),
        ("EMPTY=", MASK),
        ("DB2_PASSWORD=x", f"DB2_PASSWORD={MASK}"),
        ("awsKey: x", f"awsKey:{MASK}"),
        ("padded = =x", MASK),
    ],
)
def test_a_value_is_no_name(line: str, kept: str) -> None:
    """What ends in its sign may be a value's end, and what is long or mixed may be the value."""
    assert mask_file("ops/vault_pass.txt", f"{line}\n") == f"{kept}\n"


def test_a_web_token_behind_a_name_is_found() -> None:
    """The name stays; a token is not where a word goes on."""
    token = f"eyJ{FILLED}.eyJ{FILLED}.{FILLED}"

    assert mask(f"id-token-{token}\n") == (f"id-token-{MASK}\n", ("web token",))
    assert mask(f"my_{token}\n")[1] == ()


def test_what_is_no_secret_hides_none_behind_it() -> None:
    """One that fails its condition is passed over alone."""
    text = f'secret = "{"ab_" * 8}", secret = "Zx81kkQ9aaBBccDD0011" sk-{"a" * 40} sk-{FILLED}\n'

    assert mask(text) == (
        f'secret = "{"ab_" * 8}", secret = "{MASK}" sk-{"a" * 40} {MASK}\n',
        ("model provider's key", "assigned secret"),
    )


def test_a_name_of_two_lines_is_a_name() -> None:
    """A line's end hides no ending."""
    assert is_secret("a\n.pem")


@pytest.mark.parametrize(
    "text",
    [
        'password = os.environ["DB_PASSWORD_42_Prod"]\n',
        "token = settings.Token123456789012345678\n",
        'secret_name = "projects/1234/secrets/MyLongSecretName"\n',
        'ACCESS_TOKEN_URL = "https://Api2.example.com/oauth2/token"\n',
        'f"postgres://{user}:{password}@{host}"\n',
        "postgres://postgres:postgres@localhost/db and https://user:password@example.com\n",
        "https://$USER:$PASSWORD@example.com https://%s:%s@host ${A}://x:${B}@y\n",
        "docker://alpine:3.8@sha256:0123 ssh://git@example.com:22/a http://host:8080/@scope/a\n",
        'aws_secret_access_key = "0123456789abcdef0123456789abcdef01234567"\n',
        'if "-----BEGIN PRIVATE KEY-----" in text:\n    raise ValueError("-----END PRIVATE KEY-----")\n',
        ".sk-estimator-doc-link-with-a-very-long-name-indeed { color: red }\n",
        "task-0123456789ABCDEF0123456789ABCDEF0123\n",
        "AKIA\n",
        "# a password = hunter2 has no shape\n",
    ],
)
def test_what_only_speaks_of_secrets_stays(text: str) -> None:
    assert mask(text) == (text, ())


def test_a_key_without_an_end_is_covered_too() -> None:
    """A text may have been cut."""
    text, kinds = mask(PEM[:110])

    assert kinds == ("private key",)
    assert BODY[:20] not in text


@given(st.text(max_size=300))
def test_masking_again_changes_nothing(text: str) -> None:
    """What is covered has no shape."""
    once, _ = mask(text + PEM)

    assert mask(once) == (once, ())
