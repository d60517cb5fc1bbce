"""Known holes in what CI installs: `python tools/audit.py`, in the environment to look at.

Exits with 1 if a package has one, or was skipped, pqlab itself aside. Where the database of holes
cannot be reached, "not run" is printed, and nothing is claimed.
"""

from __future__ import annotations

import json
import subprocess
import sys

TIMEOUT_S = 120


def main() -> int:
    """Run pip-audit and judge; returns the exit status."""
    command = [sys.executable, "-m", "pip_audit", "--format", "json", "--progress-spinner", "off"]
    try:
        done = subprocess.run(
            [*command, "--timeout", "10"],
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        packages = json.loads(done.stdout)["dependencies"]
    except subprocess.TimeoutExpired:
        print(f"pip-audit: not run (no answer within {TIMEOUT_S} s)")
        return 0
    except (ValueError, KeyError):
        if "Connection" in done.stderr or "Max retries" in done.stderr:
            print("pip-audit: not run (its data cannot be reached)")
            return 0
        print(done.stderr[-2000:])
        return 1
    bad = [each for each in packages if each.get("vulns") or "skip_reason" in each]
    bad = [each for each in bad if each["name"] != "pqlab"]
    for each in bad:
        found = ", ".join(hole["id"] for hole in each.get("vulns", [])) or each["skip_reason"]
        print(f"{each['name']}: {found}")
    print(f"pip-audit: {len(packages)} packages, {len(bad)} with a hole or skipped")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
