"""The GPU engine: kernels, the device that runs them, and the emulator that stands in for one."""
