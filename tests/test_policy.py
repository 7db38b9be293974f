"""What is made ready before the first message within the policy."""

from app.vantage.distress import EMERGENCIES, family
from app.wiring import warm_policy


async def test_no_message_waits_for_patterns() -> None:
    """All families' are compiled by the time a service with /vantage listens."""
    family.cache_clear()
    await warm_policy()
    assert family.cache_info().currsize == len(EMERGENCIES)
