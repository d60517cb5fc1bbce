"""Fails if a JUnit report has tests skipped for want of anything but a GPU, or no tests at all."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from collections import Counter

ALLOWED = "no GPU on this machine"


def main(report: str) -> int:
    """Count the skips in `report` by reason; returns the exit status."""
    cases = list(ET.parse(report).getroot().iter("testcase"))
    reasons = Counter(skip.get("message", "") for case in cases for skip in case.iter("skipped"))
    for reason, count in reasons.most_common():
        print(f"{count:5} skipped: {reason}")
    forbidden = sum(count for reason, count in reasons.items() if ALLOWED not in reason)
    if forbidden:
        print(f"{forbidden} skipped tests: nothing but a missing GPU may skip a test here")
    if not cases:
        print("no test ran")
    return 1 if forbidden or not cases else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
