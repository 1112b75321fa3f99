"""Windows of concurrent requests in common batches."""
