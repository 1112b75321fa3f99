"""Commands that print figures: accuracy and word times beside a peer, and memory. They are not part of the test run."""
