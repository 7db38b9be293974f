"""The engines behind the exact index: Chroma (documents), Qdrant (memories, corpora), pgvector (projects).

An engine searches scopes that are too large for exact search, and points that other tools wrote. Chroma and
Qdrant hold copies of the record, which the outbox writes (`retrieval/copies.py`); pgvector reads the record.
Vectors have unit length; scores are raw cosines. One contract test covers all
(`tests/retrieval/test_retrievers.py`). Raises only `RetrievalError`, no vendor's errors.
"""
