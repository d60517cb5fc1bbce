"""`python -m pqlab`: the command line."""

import sys

from pqlab.cli import main

sys.exit(main())
