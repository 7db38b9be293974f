"""The policy that decides before the model speaks: features -> params -> decide -> overlay, mix, clarify.

Pure: text and values in, values out; no clock, no randomness, no model. Source: seed 003 (3.3), CONTRACT §3.
"""
