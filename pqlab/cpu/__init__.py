"""The CPU engine: drives native code over a plan."""
