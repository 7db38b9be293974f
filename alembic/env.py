"""How alembic runs here: on the connection that `app/db/migrations.py` hands in, in its transaction,
which holds the lock that makes runners take turns. `ibid migrate` is the command line for it.
"""

from sqlalchemy import Connection, text

from alembic import context


def run(connection: Connection) -> None:
    """Bring the database to the newest revision; a replica that comes second finds nothing to do."""
    # Asked first: IF NOT EXISTS wants the right to create even where there is nothing to create.
    if connection.scalar(text("SELECT to_regnamespace('ibid') IS NULL")):
        connection.execute(text("CREATE SCHEMA ibid"))
    context.configure(connection=connection, target_metadata=None, version_table_schema="ibid")
    with context.begin_transaction():
        context.run_migrations()


run(context.config.attributes["connection"])
