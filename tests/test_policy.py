"""What is made ready before the first message within the policy."""

from app.policy import warm
from app.vantage import alarm
from app.vantage.emergencies import EMERGENCIES


async def test_no_message_waits_for_patterns() -> None:
    """All families' are compiled by the time a service with /vantage listens."""
    made = (alarm.pattern, alarm.needed)
    for each in made:
        each.cache_clear()
    await warm()
    assert [each.cache_info().currsize for each in made] == [len(EMERGENCIES)] * 2
