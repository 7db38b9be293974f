"""The search room: words (BM25) and meaning (vectors) of documents, kept in memory a part at a time."""
