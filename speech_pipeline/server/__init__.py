"""The pipeline as an HTTP server: the host's contract and OpenAI's speech API. ``app.py`` says how it is put together.

Still to come: batches across requests and the metrics of their sizes, OpenTelemetry, ``/openapi.json``, the page, and
segments' ``tokens`` and the exact ``seek`` of OpenAI's ``verbose_json``, which the recogniser does not hand out.
"""
