"""How every reply tells a time."""

from datetime import UTC, datetime


def moment(at: datetime) -> str:
    """RFC 3339 in UTC, with `Z`, whatever its own zone is; without a zone it is UTC."""
    return (at.astimezone(UTC) if at.tzinfo else at).replace(tzinfo=None).isoformat() + "Z"
