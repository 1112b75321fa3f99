"""What Prometheus reads at ``/metrics``."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST as OPENMETRICS
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics

from speech_pipeline.server.request_record import RequestRecord
from speech_pipeline.transcript import Transcript

TEXT = "text/plain; version=0.0.4; charset=utf-8"

_LATENCIES_S = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800)
_SPEEDS = (0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500)


class Metrics:
    """Counts and times of one server; several in a process keep apart."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self.requests = Counter("speech_requests", "Requests answered.", ["route", "status"], registry=registry)
        self.request_s = Histogram(
            "speech_request_seconds", "Time of a request.", ["route"], buckets=_LATENCIES_S, registry=registry
        )
        self.errors = Counter("speech_errors", "Errors answered, by their code.", ["code"], registry=registry)
        self.received_bytes = Counter("speech_received_bytes", "Bytes of request bodies.", registry=registry)
        self.queue_s = Histogram(
            "speech_queue_seconds", "Wait for the work to begin.", buckets=_LATENCIES_S, registry=registry
        )
        self.stage_s = Histogram(
            "speech_stage_seconds", "Work by stage.", ["stage"], buckets=_LATENCIES_S, registry=registry
        )
        self.audio_s = Counter("speech_audio_seconds", "Audio heard or spoken.", ["direction"], registry=registry)
        self.rtfx = Histogram(
            "speech_rtfx", "Seconds of audio for each second of work.", buckets=_SPEEDS, registry=registry
        )
        self.present = Gauge("speech_requests_present", "Requests accepted and not yet answered.", registry=registry)
        self.working = Gauge("speech_requests_working", "Requests at work.", registry=registry)
        self.ready = Gauge("speech_ready", "1 once the models are loaded and warm.", registry=registry)

    def count(self, route: str, record: RequestRecord, seconds: float) -> None:
        """Add a request that is over."""
        self.requests.labels(route, str(record.status)).inc()
        self.request_s.labels(route).observe(seconds)
        self.received_bytes.inc(record.received_bytes)
        if record.error_code is not None:
            self.errors.labels(record.error_code).inc()

    def heard(self, transcript: Transcript) -> None:
        """Add the work on a recording."""
        for stage, seconds in transcript.timings.items():
            self.stage_s.labels(stage).observe(seconds)
        self.audio_s.labels("heard").inc(transcript.duration)
        if total := transcript.timings.get("total"):
            self.rtfx.observe(transcript.duration / total)

    def exposed(self, accept: str) -> tuple[bytes, str]:
        """All of it as text, and its content type, which depends on the ``Accept`` header."""
        if "application/openmetrics-text" in accept:
            return generate_openmetrics(self.registry), OPENMETRICS
        return generate_latest(self.registry), TEXT
