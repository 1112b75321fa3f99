"""Python programs in a process of their own, for what must be set before anything is imported."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent


def run_program(program: str, *arguments: str, **environment: str) -> Any:
    """Run a program in the repository and read the JSON it prints.

    Args:
        program: its source.
        arguments: its command line.
        environment: variables that differ from those of this process.
    """
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=REPOSITORY,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
        timeout=180,
    )
    return json.loads(done.stdout)
