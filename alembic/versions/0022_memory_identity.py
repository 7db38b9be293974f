"""A memory can be edited and keeps its id, which was made from its first words.

Repeats of it are then known by the id that its present words would have; null: by its own.
"""

from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """No table is rewritten."""
    op.execute("ALTER TABLE ibid.memory ADD COLUMN identity text")
    op.execute(
        "COMMENT ON COLUMN ibid.memory.identity IS"
        " 'The id that the words of an edited memory would have; null: they have its own'"
    )
    op.execute(
        "CREATE UNIQUE INDEX memory_identity ON ibid.memory (tenant, user_id, identity)"
        " WHERE identity IS NOT NULL"
    )


def downgrade() -> None:
    op.execute("ALTER TABLE ibid.memory DROP COLUMN identity")
