"""Which of two is faster: measured in pairs, told with an interval and a verdict."""

from __future__ import annotations

from pqlab.comparison.pairs import compare as compare
from pqlab.comparison.result import Comparison as Comparison
