"""What the tests share."""

import logging
from pathlib import Path

MOCK = str(Path(__file__).parents[2] / "testing" / "mock_sidecar.py")

logging.getLogger("toolcrib").setLevel(logging.CRITICAL)
