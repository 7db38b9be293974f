"""From a question to ranked passages: terms, the exact index of a scope, and the engines beside it."""
