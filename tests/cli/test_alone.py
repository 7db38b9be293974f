"""A service of a command's own."""

from app.cli.alone import LOCAL, own
from app.cli.terminal import settings
from app.db.embedded import read_lock
from tests.cli.conftest import Ibid


async def test_it_answers_on_this_machine_and_holds_the_folder_meanwhile(begun: Ibid) -> None:
    """The same HTTP as a service's, with its local token; gone behind the block."""
    config, _ = settings(begun.data)
    async with own(config) as client:
        assert client.base_url.host == LOCAL
        assert (await client.get("/readyz")).is_success
        assert read_lock(begun.data) is not None
    assert read_lock(begun.data) is None
