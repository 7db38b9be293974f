"""Ibid: one service that answers from everything a person keeps and cites every statement."""
