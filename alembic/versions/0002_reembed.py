"""Room for the vectors of a space in the making, beside the current ones (`ibid reembed`)."""

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

TABLE = """
CREATE TABLE ibid.chunk_next (
    space        text NOT NULL,
    document_id  text NOT NULL,
    ordinal      integer NOT NULL,
    embedding    vector NOT NULL,
    PRIMARY KEY (space, document_id, ordinal),
    FOREIGN KEY (document_id, ordinal) REFERENCES ibid.chunk (document_id, ordinal) ON DELETE CASCADE
)
"""


def upgrade() -> None:
    """Make it."""
    op.execute(TABLE)
    op.execute("CREATE INDEX chunk_next_chunk ON ibid.chunk_next (document_id, ordinal)")


def downgrade() -> None:
    """Drop it."""
    op.execute("DROP TABLE ibid.chunk_next")
