"""Ibid: one service that answers from everything a person keeps and names the passages it rests on."""
