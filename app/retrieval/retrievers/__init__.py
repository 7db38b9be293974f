"""The engines behind the exact index: Chroma (documents), Qdrant (memories, corpora), pgvector (projects).

An engine is asked for the nearest vectors of a scope that is too large to be searched exactly, and for what
other tools wrote. Chroma and Qdrant hold copies of the record, which the outbox writes (`db/copies.py`).
pgvector reads the record itself. Vectors have unit length; scores are raw cosines. One contract test runs
against all (`tests/retrieval/test_retrievers.py`). Raises `RetrievalError` and nothing of the vendor's.
"""
