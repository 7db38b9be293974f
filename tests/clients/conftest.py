"""The whole app in this process, for clients that are other people's packages, unchanged."""

from tests.integration.conftest import host

__all__ = ["host"]
