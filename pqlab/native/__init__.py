"""Native code: `*.cuh` headers shared by both engines, `cpu/` for the extension module."""
