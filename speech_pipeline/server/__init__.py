"""The pipeline as an HTTP server: the host's contract and OpenAI's speech API. ``app.py`` says how it is put together.

Still to come:

- batches across requests, with the metrics of their sizes and of GPU memory; until then a stream has one delta;
- OpenTelemetry traces, ``/openapi.json``, the page;
- a limit on the time a request's header may take, and on connections that send nothing: uvicorn has none;
- in ``verbose_json`` the ``tokens`` of segments and the exact ``seek``, which the recogniser does not hand out.
"""
