"""Points of older tools that `ibid adopt` imported as rows.

An entry stays when its row is removed, so that the next import does not bring it back; it goes with its user.
"""

from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

IMPORTED = """
    CREATE TABLE ibid.imported (
        collection  text NOT NULL,                      -- the older tool's
        point       text NOT NULL,                      -- a UUID, or a number
        tenant      text NOT NULL,
        user_id     text NOT NULL,                      -- '' of a reference text
        id          text NOT NULL,                      -- ibid.memory.id, or ibid.corpus_text.point
        digest      bytea NOT NULL,                     -- of the payload
        PRIMARY KEY (collection, point)
    )
"""


def upgrade() -> None:
    """Make the table. A collection's space is null unless its vectors are known to belong to it."""
    op.execute(IMPORTED)
    op.execute("CREATE INDEX imported_whose ON ibid.imported (tenant, user_id, collection)")
    op.execute("ALTER TABLE ibid.collection_home ADD COLUMN space text")


def downgrade() -> None:
    """Drop it. The rows stay."""
    op.execute("ALTER TABLE ibid.collection_home DROP COLUMN space")
    op.execute("DROP TABLE ibid.imported")
