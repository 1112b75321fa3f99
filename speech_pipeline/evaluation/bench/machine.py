"""What figures were measured on: processor, cores, memory, versions; no names and no paths."""

import os
import platform
import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

LIBRARIES = ("torch", "transformers", "onnxruntime", "pyannote.audio", "numpy", "ctranslate2")
"""Libraries whose versions decide about speed."""


def describe_machine(threads: int) -> dict[str, Any]:
    """The machine as plain JSON types.

    Args:
        threads: how many threads the systems computed with.
    """
    return {
        "cpu": _processor(),
        "cores": cores(),
        "threads": threads,
        "memory_gb": _memory_gb(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "libraries": {name: found for name in LIBRARIES if (found := package_version(name))},
    }


def cores() -> int:
    """Processor cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def package_version(name: str) -> str | None:
    """Version of an installed package; None where it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    """The processor's name for people; Linux keeps it in a file of its own."""
    file = Path("/proc/cpuinfo")
    if file.is_file():
        found = re.search(r"^model name\s*:\s*(.+)$", file.read_text(encoding="utf-8"), re.MULTILINE)
        if found:
            return found[1].strip()
    return platform.processor() or platform.machine()


def _memory_gb() -> float | None:
    """Memory of the machine in gigabytes (10^9 bytes)."""
    if not hasattr(os, "sysconf") or "SC_PHYS_PAGES" not in os.sysconf_names:
        return None
    return round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9, 1)
