"""The policy that decides before the model speaks: features -> params -> decide -> overlay, mix, clarify.

Pure: text and values in, values out; no clock, no randomness, no model. Source: docs/contract.md.
"""
