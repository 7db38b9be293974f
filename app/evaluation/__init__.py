"""`ibid eval`: retrieval measured on folders of texts and graded questions."""
