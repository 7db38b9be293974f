"""From bytes to chunks: PDFs and source code, parsed in worker processes, and the background jobs."""
