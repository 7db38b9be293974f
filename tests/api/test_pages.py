"""The page, its files and the reference: ours alone, and closed to everything else."""

import re

import httpx
import pytest

from app.api.pages import FOLDER
from tests.fakes.server import told


async def test_the_page_is_served(client: httpx.AsyncClient) -> None:
    response = await client.get("/")

    assert response.status_code == 200
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert "<title>Ibid" in response.text


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


@pytest.mark.parametrize("path", ["/", "/web/app.js", "/docs"])
async def test_pages_can_be_asked_for_their_head(client: httpx.AsyncClient, path: str) -> None:
    response = await client.head(path)

    assert response.status_code == 200
    assert response.headers["x-content-type-options"] == "nosniff"


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


def test_the_folder_is_part_of_the_package() -> None:
    """An installed Ibid has its page."""
    assert (FOLDER / "index.html").is_file()


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


@pytest.mark.parametrize("accept", ["*/*", "application/json", "application/problem+json"])
async def test_a_client_at_an_unknown_address_is_told_the_problem(
    client: httpx.AsyncClient, accept: str
) -> None:
    """As JSON, whatever else it takes."""
    told(await client.get("/nothing/here", headers={"Accept": accept}), 404, "not-found")


async def test_what_is_missing_at_a_known_address_stays_a_problem(client: httpx.AsyncClient) -> None:
    """For a browser too: the address is the API's; so is a method that an unknown path never had."""
    told(await client.get("/web/nothing.js", headers=BROWSER), 404, "not-found")
    told(await client.delete("/nothing/here", headers=BROWSER), 404, "not-found")


async def test_browsers_find_an_icon(client: httpx.AsyncClient) -> None:
    """Where they look unasked, as from /docs."""
    response = await client.get("/favicon.ico")

    assert response.status_code == 200
    assert response.headers["content-type"].startswith("image/svg+xml")


async def test_what_is_vendored_is_served(client: httpx.AsyncClient) -> None:
    """Scripts alone, under the same headers."""
    response = await client.get("/web/vendor/marked.js")

    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/javascript")
    assert response.headers["x-content-type-options"] == "nosniff"
    told(await client.get("/web/vendor/README.md"), 404, "not-found")
