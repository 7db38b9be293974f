"""The trade's words and rules. Pure: standard library only, no I/O, no clock but where it is passed in."""
