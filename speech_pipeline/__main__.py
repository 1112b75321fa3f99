"""``python -m speech_pipeline``: see :mod:`speech_pipeline.cli`."""

import sys

from speech_pipeline.cli import main

sys.exit(main())
