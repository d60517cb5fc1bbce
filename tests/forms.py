"""The forms of the decoding loops that this machine runs."""

from __future__ import annotations

from pqlab.native._native import instruction_sets

# "serial": the loops that a GPU shares, for a group of one.
FORMS = ("serial", *instruction_sets())
