"""The open service (no key exists) serves this machine only: its people, not the web pages they visit.

A page elsewhere can make a browser call 127.0.0.1, by a form, an image or a rebound name. Three marks tell
such calls: the peer's address, the name in `Host` (DNS rebinding), and `Origin`/`Sec-Fetch-Site` (Fetch
Metadata). A reverse proxy on this machine would make the whole internet look like it: its headers tell.
With a key none of this is asked: a foreign page does not have it.
Raises `NotLocal` (403) and `Misdirected` (421).
"""

import ipaddress
import re
from functools import lru_cache
from urllib.parse import urlsplit

from starlette.requests import Request

from app.errors import Misdirected, NotLocal

FOREIGN = frozenset({"cross-site", "same-site"})
"""`same-site` too: another port of localhost is another program."""
AUTHORITY = re.compile(r"[A-Za-z0-9._:\[\]-]+")
"""What a `Host` of this machine is made of: no user before an `@`, no path, no blank a parser would drop."""

FORWARDING = re.compile(
    r"via|.*-via|.*forwarded.*|.*-?client-?ip|.*-(?:ip|ips|socketip|external-address)|x-original-.*|x-host"
    r"|cf-.*|cdn-loop|x-varnish|tailscale-.*|ngrok-.*|fly-.*|x-amzn-.*|x-cloud-trace-context"
)
"""Headers by which a proxy says for whom it calls: Forwarded (RFC 7239), Via, X-Forwarded-*, X-Real-IP,
and those of vendors' proxies, tunnels and content networks."""

SEEN = 64
"""Peers and names whose answer is remembered: of an open service there are a few."""


def local_only(request: Request) -> None:
    """Let the call through if it comes from this machine, by its own name, from our own page or no page."""
    if request.client is not None and not is_loopback(request.client.host):
        raise NotLocal("Make a key (ibid keys create) to be served from another machine.")
    for name in request.headers:
        if FORWARDING.fullmatch(name):
            raise NotLocal(
                f"The request came through a proxy ({name[:100]}). Call the service directly, or make a key"
                " (ibid keys create) to be served through one."
            )
    hosts = request.headers.getlist("host")
    if len(hosts) != 1 or not is_local_name(hosts[0]):
        raise Misdirected("Call it 127.0.0.1 or localhost, or make a key (ibid keys create).")
    ours = all(_is_ours(origin, hosts[0]) for origin in request.headers.getlist("origin"))
    if not ours or _is_foreign(request):
        raise NotLocal("A page of another site may not use the open service.")


def _is_ours(origin: str, host: str) -> bool:
    """Whether an `Origin` is the very host that is called; what is no origin is not."""
    try:
        return urlsplit(origin).netloc.lower() == host.lower()
    except ValueError:
        return False


def _is_foreign(request: Request) -> bool:
    """Whether a browser says that another site's page makes it call. Following a link is no such call."""
    if request.headers.get("sec-fetch-site") not in FOREIGN:
        return False
    return request.method != "GET" or request.headers.get("sec-fetch-mode") != "navigate"


@lru_cache(maxsize=SEEN)
def is_loopback(address: str) -> bool:
    """127.0.0.0/8, ::1, and the former written as IPv6."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return False
    mapped = ip.ipv4_mapped if isinstance(ip, ipaddress.IPv6Address) else None
    return (mapped or ip).is_loopback


@lru_cache(maxsize=SEEN)
def is_local_name(host: str) -> bool:
    """Whether a `Host` names this machine: localhost, *.localhost (RFC 6761 §6.3), a loopback address."""
    if not AUTHORITY.fullmatch(host):
        return False
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    return name == "localhost" or name.endswith(".localhost") or is_loopback(name)
