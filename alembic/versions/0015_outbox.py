"""The outbox: what Qdrant and Chroma have yet to take over from the record.

Triggers fill it in the transaction that changes a row, whoever writes. A memory or a reference text is
searchable as soon as its row is committed and gone with it, so `indexed_at` and `removed_at` go.
"""

from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

TABLES = (
    """
    CREATE TABLE ibid.outbox (
        seq         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        engine      text NOT NULL,                      -- qdrant, chroma
        collection  text NOT NULL DEFAULT '',           -- of points; '' for documents
        item        text NOT NULL DEFAULT '',           -- memory, point or document; '': all (a refill)
        written_at  timestamptz NOT NULL DEFAULT clock_timestamp()
    )
    """,
    "CREATE INDEX outbox_engine ON ibid.outbox (engine, seq)",
    """
    CREATE TABLE ibid.engine (
        name  text PRIMARY KEY,
        seq   bigint NOT NULL                           -- the last entry that it is known to have taken
    )
    """,
)
FOLLOWED = {
    "memory": ("qdrant", "'memory_raw'", "id", "true"),
    "corpus_text": ("qdrant", "collection", "point", "true"),
    "document": ("chroma", "''", "id", "state = 'ready' AND removed_at IS NULL"),
}
"""Engine, collection, item, and which rows it holds, by table."""
REFILL = "INSERT INTO ibid.outbox (engine) SELECT '{engine}' WHERE EXISTS (SELECT FROM ibid.{table})"
# A row with the same revision holds the same text. Vectors of another space come with a refill.
CHANGED = {
    "memory": "new_rows.revision <> old_rows.revision",
    "corpus_text": "new_rows.revision <> old_rows.revision",
    "document": "(new_rows.state = 'ready' AND new_rows.removed_at IS NULL)"
    " <> (old_rows.state = 'ready' AND old_rows.removed_at IS NULL)",
}
KEYS = {"memory": "id", "corpus_text": "tenant, collection, id", "document": "id"}
FUNCTION = """
    CREATE FUNCTION ibid.follow_{table}() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP = 'INSERT' THEN
            INSERT INTO ibid.outbox (engine, collection, item)
                SELECT '{engine}', {collection}, {item} FROM new_rows WHERE {held};
        ELSIF TG_OP = 'DELETE' THEN
            INSERT INTO ibid.outbox (engine, collection, item)
                SELECT '{engine}', {collection}, {item} FROM old_rows WHERE {held};
        ELSE
            INSERT INTO ibid.outbox (engine, collection, item)
                SELECT '{engine}', {new_collection}, new_rows.{item} FROM new_rows JOIN old_rows USING ({key})
                WHERE {changed};
        END IF;
        RETURN NULL;
    END $$
"""
TRIGGER = """
    CREATE TRIGGER follow_{event} AFTER {event} ON ibid.{table} REFERENCING {rows}
    FOR EACH STATEMENT EXECUTE FUNCTION ibid.follow_{table}()
"""
EVENTS = {
    "INSERT": "NEW TABLE AS new_rows",
    "UPDATE": "OLD TABLE AS old_rows NEW TABLE AS new_rows",
    "DELETE": "OLD TABLE AS old_rows",
}
OF_POINTS = ("memory", "corpus_text")


def upgrade() -> None:
    """Make them. The next start fills the engines again."""
    for statement in TABLES:
        op.execute(statement)
    for table in OF_POINTS:
        op.execute(f"DELETE FROM ibid.{table} WHERE removed_at IS NOT NULL")  # noqa: S608 - constants above
        op.execute(f"ALTER TABLE ibid.{table} DROP COLUMN indexed_at, DROP COLUMN removed_at")
    op.execute("CREATE INDEX corpus_point ON ibid.corpus_text (point)")
    for table, (engine, collection, item, held) in FOLLOWED.items():
        facts = {"engine": engine, "collection": collection, "item": item, "held": held, "key": KEYS[table]}
        new_collection = collection if collection.startswith("'") else f"new_rows.{collection}"
        changed = {"changed": CHANGED[table], "new_collection": new_collection}
        op.execute(FUNCTION.format(table=table, **facts, **changed))
        op.execute(REFILL.format(engine=engine, table=table))
        for event, rows in EVENTS.items():
            op.execute(TRIGGER.format(table=table, event=event, rows=rows))


def downgrade() -> None:
    """Drop them. The repair of the version before gives an index every row without `indexed_at`."""
    for table in FOLLOWED:
        for event in EVENTS:
            op.execute(f"DROP TRIGGER follow_{event} ON ibid.{table}")
        op.execute(f"DROP FUNCTION ibid.follow_{table}")
    op.execute("DROP INDEX ibid.corpus_point")
    for table in OF_POINTS:
        for column in ("indexed_at", "removed_at"):
            op.execute(f"ALTER TABLE ibid.{table} ADD COLUMN {column} timestamptz")
    for index in ("memory_unfinished ON ibid.memory (id)", "corpus_unfinished ON ibid.corpus_text (point)"):
        op.execute(f"CREATE INDEX {index} WHERE indexed_at IS NULL OR removed_at IS NOT NULL")
    for table in ("engine", "outbox"):
        op.execute(f"DROP TABLE ibid.{table}")
