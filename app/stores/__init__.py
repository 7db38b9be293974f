"""What is kept or fetched by key and never searched: Postgres tables, one file a noun.

Every store takes the pool and turns asyncpg's errors into ours at its own edge (`clients/faults.py`)."""
