"""The reference at `/docs`."""

from playwright.sync_api import expect

from tests.web.conftest import QUESTION, Reader


def test_the_reference_can_be_tried(reader: Reader) -> None:
    """Swagger UI, with nothing from elsewhere and nothing that the policy had to stop."""
    reader.page.goto("/docs")
    chat = reader.page.locator("#operations-chat-chat")
    chat.locator(".opblock-summary").click()
    chat.locator("textarea").fill(f'{{"message": "{QUESTION}", "session_id": "{reader.session}"}}')
    chat.locator(".execute").click()

    expect(chat.locator(".live-responses-table")).to_contain_text("event: done")
    expect(chat.locator(".live-responses-table")).to_contain_text("mill.pdf#1")
    assert reader.page.evaluate("violations") == []
