"""The most memory this process has had in use."""

import re
import resource
import sys
from pathlib import Path


def peak_memory_mb() -> float:
    """Largest resident set of this process so far, in megabytes (10^6 bytes).

    On Linux the kernel's figure for the program (``VmHWM``, proc_pid_status(5)) is read: that of getrusage(2) starts
    with the size of the process that started this one.
    """
    status = Path("/proc/self/status")
    if status.is_file():
        found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text(encoding="ascii"))
        if found:
            return int(found[1]) * 1024 / 1e6
    # The unit is bytes on macOS and kilobytes elsewhere.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6


def forget_peak_memory() -> None:
    """Let the peak begin anew with what is in use now, where the system can (Linux, proc_pid_clear_refs(5))."""
    clear = Path("/proc/self/clear_refs")
    if clear.is_file():
        clear.write_text("5", encoding="ascii")
