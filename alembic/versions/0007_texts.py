"""Room for the vectors of a space in the making of memories and reference texts (`ibid reembed`)."""

from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

TABLE = """
CREATE TABLE ibid.text_next (
    space      text NOT NULL,
    kind       text NOT NULL CHECK (kind IN ('memory', 'corpus')),
    id         text NOT NULL,                           -- the memory's, or the text's point
    embedding  vector NOT NULL,
    memory_id  text REFERENCES ibid.memory ON DELETE CASCADE,  -- its vector goes with it
    PRIMARY KEY (space, kind, id)
)
"""


def upgrade() -> None:
    """Make it."""
    op.execute(TABLE)
    op.execute("CREATE INDEX text_next_memory ON ibid.text_next (memory_id) WHERE memory_id IS NOT NULL")


def downgrade() -> None:
    """Drop it."""
    op.execute("DROP TABLE ibid.text_next")
