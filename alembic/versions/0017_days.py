"""The days that a memory speaks of, beside it: a question about a time compares those of many memories.

Rows without them are read when such a question finds them.
"""

from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """No table is rewritten."""
    op.execute("ALTER TABLE ibid.memory ADD COLUMN days integer[]")


def downgrade() -> None:
    """They can be read again."""
    op.execute("ALTER TABLE ibid.memory DROP COLUMN days")
