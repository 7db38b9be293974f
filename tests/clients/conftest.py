"""Clients as people have them, against the whole app: unchanged packages, and the examples of the guide."""

from tests.integration.conftest import host, house, talk

__all__ = ["host", "house", "talk"]
