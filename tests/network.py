"""The switch that keeps tests on this machine: only Unix sockets and loopback can be connected to."""

import ipaddress
import socket
from typing import Any


def local(host: object) -> bool:
    """True if a host is this machine."""
    if host in (None, "", "localhost", b"localhost"):
        return True
    try:
        return ipaddress.ip_address(host.decode() if isinstance(host, bytes) else str(host)).is_loopback
    except ValueError:
        return False


def check(host: object) -> None:
    """Refuse any other. `RuntimeError`, so that no client takes it for a network fault and retries."""
    if not local(host):
        raise RuntimeError(f"tests may not reach {host!r}: only loopback and Unix sockets")


def forbid() -> None:
    """Guard connecting and looking up names, for the rest of this process."""
    connect, connect_ex, getaddrinfo = socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            check(address[0])
        connect(self, address)

    def guarded_ex(self: socket.socket, address: Any) -> int:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            check(address[0])
        return connect_ex(self, address)

    def looked_up(host: Any, *arguments: Any, **options: Any) -> Any:
        check(host)
        return getaddrinfo(host, *arguments, **options)

    socket.socket.connect = guarded  # type: ignore[method-assign, assignment] # meant
    socket.socket.connect_ex = guarded_ex  # type: ignore[method-assign, assignment] # meant
    socket.getaddrinfo = looked_up
