"""From a question to ranked passages: terms, the exact index of a scope, the six sources, their engines."""
