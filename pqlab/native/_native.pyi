from typing import Any

def __getattr__(name: str) -> Any: ...  # the extension module's functions, as its docstrings say
