"""A revision of each memory and reference text: a number that no other write of any row has.

Counted by a sequence, not by row: a text that is removed and stored again must not repeat a number.
"""

from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

TABLES = ("ibid.memory", "ibid.corpus_text")


def upgrade() -> None:
    """Rows that are there have 0; no table is rewritten."""
    op.execute("CREATE SEQUENCE ibid.revision")
    for table in TABLES:
        op.execute(f"ALTER TABLE {table} ADD COLUMN revision bigint NOT NULL DEFAULT 0")


def downgrade() -> None:
    """Drop them."""
    for table in TABLES:
        op.execute(f"ALTER TABLE {table} DROP COLUMN revision")
    op.execute("DROP SEQUENCE ibid.revision")
