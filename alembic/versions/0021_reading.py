"""Facts about a PDF beside its text: kinds of chunks, printed page numbers, and warnings.

Documents that were read before keep their chunks, without a kind and printed page numbers.
"""

from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

COMMENTS = {
    "chunk.kind": "'''': text; table, listing (a table of contents, an index of exhibits), cover",
    "chunk.page_label": "As printed: iv, 12, F-3; with a dash for several pages; '''': none is known",
    "document.warnings": "For people: what of the file is not searchable",
}


def upgrade() -> None:
    """No table is rewritten."""
    op.execute(
        "ALTER TABLE ibid.chunk ADD COLUMN kind text NOT NULL DEFAULT '',"
        " ADD COLUMN page_label text NOT NULL DEFAULT ''"
    )
    op.execute("ALTER TABLE ibid.document ADD COLUMN warnings text[] NOT NULL DEFAULT '{}'")
    for column, comment in COMMENTS.items():
        op.execute(f"COMMENT ON COLUMN ibid.{column} IS '{comment}'")


def downgrade() -> None:
    """Drop them."""
    op.execute("ALTER TABLE ibid.chunk DROP COLUMN kind, DROP COLUMN page_label")
    op.execute("ALTER TABLE ibid.document DROP COLUMN warnings")
