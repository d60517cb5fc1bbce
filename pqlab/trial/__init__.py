"""What other writer settings would do: written into memory, read, compared."""

from __future__ import annotations

from pqlab.trial.grid import BestSettings as BestSettings, best_settings as best_settings
from pqlab.trial.rewrite import Trial as Trial, rewrite_trial as rewrite_trial
