"""The page, its files and the reference, on disk and as they are served: ours alone, nothing from
elsewhere, nothing inline, and closed to everything else."""

import re
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import httpx
import pytest

import app
from app.main import create_app
from app.settings import Settings
from tests.fakes.server import told


async def test_everything_the_page_asks_for_is_served(client: httpx.AsyncClient) -> None:
    """From here, and with its own type."""
    page = (await client.get("/")).text
    found = set(re.findall(r'(?:src|href)="(/web/[^"]+)"', page))

    assert {path.rpartition(".")[2] for path in found} >= {"js", "css"}
    kinds = {"js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}
    for path in found:
        response = await client.get(path)
        assert response.status_code == 200, path
        assert response.headers["content-type"].startswith(kinds[path.rpartition(".")[2]])
        assert response.headers["x-content-type-options"] == "nosniff"


async def test_files_are_packed_and_sent_once(client: httpx.AsyncClient) -> None:
    """Packed for those that unpack; each form has a tag of its own, with which it is not sent again."""
    path = "/web/vendor/marked.js"
    packed = await client.get(path, headers={"Accept-Encoding": "gzip"})
    whole = await client.get(path, headers={"Accept-Encoding": "identity"})

    assert packed.headers["content-encoding"] == "gzip"
    assert int(packed.headers["content-length"]) < int(whole.headers["content-length"]) / 2
    assert packed.content == whole.content
    assert packed.headers["vary"] == "Accept-Encoding"
    tags = {packed.headers["etag"], whole.headers["etag"]}
    assert len(tags) == 2
    for tag in tags:
        again = await client.get(path, headers={"If-None-Match": tag, "Accept-Encoding": "gzip"})
        assert again.status_code == (304 if tag == packed.headers["etag"] else 200)
        assert again.headers["etag"] == packed.headers["etag"]


async def test_the_page_may_run_nothing_but_its_own_script(client: httpx.AsyncClient) -> None:
    """Whatever an answer contains; and nobody may frame it."""
    policy = (await client.get("/")).headers["content-security-policy"]

    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy


async def test_the_page_keeps_to_its_own_policy(client: httpx.AsyncClient) -> None:
    """No inline script, style or handler, and nothing from elsewhere: the browser would refuse it."""
    page = (await client.get("/")).text

    assert not re.search(r"<script(?![^>]*\bsrc=)", page)
    assert "<style" not in page
    assert not re.search(r"\s(on\w+|style)=", page)
    assert not re.search(r'(?:src|href)="(https?:)?//', page)


@pytest.mark.parametrize(
    "name",
    [
        "index.html",
        "..%2Fconfig.py",
        "%2e%2e/config.py",
        "__init__.py",
        "app.py",
        "nothing.js",
        ".js",
        "a/b.js",
    ],
)
async def test_nothing_but_its_files_is_served(client: httpx.AsyncClient, name: str) -> None:
    """No path leads out of the folder."""
    told(await client.get(f"/web/{name}"), 404, "not-found")


async def test_the_reference_needs_no_network(client: httpx.AsyncClient) -> None:
    """Swagger UI with all that it loads from here, under a policy that allows nothing else."""
    response = await client.get("/docs")

    assert response.status_code == 200
    assert (
        "default-src 'none'; script-src 'self'; style-src 'self'"
        in (response.headers["content-security-policy"])
    )
    addresses = re.findall(r'(?:src|href)="([^"]+)"', response.text)
    assert {"/docs/swagger-ui.css", "/docs/swagger-ui-bundle.js", "/web/docs.js"} <= set(addresses)
    for address in addresses:
        assert (await client.get(address)).status_code == 200
    told(await client.get("/docs/__init__.py"), 404, "not-found")


BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}


async def test_a_browser_at_an_unknown_address_is_shown_a_page(client: httpx.AsyncClient) -> None:
    """With the way back, under a policy that runs nothing; the address itself is not repeated."""
    response = await client.get("/documents/<script>alert(1)</script>", headers=BROWSER)

    assert response.status_code == 404
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert 'href="/"' in response.text
    assert "alert" not in response.text
    assert "script-src" not in response.headers["content-security-policy"]
    assert "default-src 'none'" in response.headers["content-security-policy"]


async def test_what_is_missing_at_a_known_address_stays_a_problem(client: httpx.AsyncClient) -> None:
    """For a browser too: the address is the API's; so is a method that an unknown path never had."""
    told(await client.get("/web/nothing.js", headers=BROWSER), 404, "not-found")
    told(await client.delete("/nothing/here", headers=BROWSER), 404, "not-found")


WEB = Path(app.__file__).parent / "web"
VENDORED = sorted(path for path in (WEB / "vendor").iterdir())
SCRIPT = "".join(path.read_text() for path in sorted(WEB.glob("*.js")))


class Page(HTMLParser):
    """Content of index.html: every tag with its attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed((WEB / "index.html").read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def all(self, attribute: str) -> set[str]:
        """Every value of an attribute."""
        return {str(attributes[attribute]) for _, attributes in self.tags if attribute in attributes}


@pytest.fixture(scope="module")
def page() -> Page:
    return Page()


async def get(path: str) -> httpx.Response:
    """A response of the whole app; the page needs none of its services."""
    transport = httpx.ASGITransport(create_app(Settings()))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        return await client.get(path)


@pytest.mark.parametrize("word", ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("])
def test_data_never_becomes_markup(word: str) -> None:
    """Answers and file names are written as text; by what is vendored, too."""
    assert word not in SCRIPT
    assert not any(word in path.read_text() for path in VENDORED if path.suffix == ".js")


def test_what_is_vendored_is_what_was_published() -> None:
    """Each script as its table has it, with its licence beside it."""
    table = (WEB / "vendor" / "README.md").read_text()
    for path in VENDORED:
        if path.suffix == ".js":
            assert f"`{sha256(path.read_bytes()).hexdigest()}`" in table
            assert f"`{path.stem}.LICENSE.md`" in table
            assert path.with_name(f"{path.stem}.LICENSE.md") in VENDORED


def test_every_field_has_a_label(page: Page) -> None:
    """Screen readers say what each field is for."""
    fields = {attributes.get("id") for tag, attributes in page.tags if tag in ("input", "textarea")}

    assert fields <= page.all("for")


def test_the_answer_is_read_out() -> None:
    """The script marks it as a live region, busy until it is whole."""
    assert 'setAttribute("aria-live", "polite")' in SCRIPT
    assert 'setAttribute("aria-busy", "false")' in SCRIPT
