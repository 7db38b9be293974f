"""Bytes in, chunks out. PDFs are read in a worker process (`pdf.py` here, `worker.py` there)."""
