"""Chat models, embedders, reranker, moderation and token counts; remote or bundled."""
