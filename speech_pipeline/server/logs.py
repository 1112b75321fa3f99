"""Logs as JSON, one object a line, each with the identifier of the request it belongs to.

Lines hold what happened where, how long it took and which code it had; never audio, text, parameters or keys.
"""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any

from speech_pipeline.server.request_record import RequestRecord, request_id

logger = logging.getLogger(__name__)


class JsonFormatter(logging.Formatter):
    """A log record as one line of JSON; ``extra={"fields": {...}}`` adds fields."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, without an end of line."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            "request_id": request_id.get(),
        }
        if record.exc_info and record.exc_info[0] is not None:
            line["error"] = record.exc_info[0].__qualname__  # messages of libraries may quote the caller's text
        return json.dumps(line | getattr(record, "fields", {}), ensure_ascii=False)


def write_json_logs() -> None:
    """Have all that this process logs written to standard error as JSON."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    logging.getLogger("httpx").setLevel(logging.WARNING)  # logs the address of every request


def log_request(method: str, route: str, record: RequestRecord, seconds: float) -> None:
    """The one line of a request that is over."""
    optional = {
        "code": record.error_code,
        "queue_s": record.queue_s and round(record.queue_s, 4),
        "audio_s": record.audio_s and round(record.audio_s, 3),
    }
    fields = {
        "method": method,
        "route": route,
        "status": record.status,
        "seconds": round(seconds, 4),
        "received_bytes": record.received_bytes,
        **{name: value for name, value in optional.items() if value is not None},
    }
    logger.info("%s %s %d", method, route, record.status, extra={"fields": fields})
