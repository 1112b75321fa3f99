"""How failures are logged: where they happened, and nothing of what the caller sent."""

import logging
import traceback


def log_error(logger: logging.Logger, error: BaseException) -> None:
    """Log where an error and its causes happened and of what kind they are, without their messages.

    Messages of libraries may quote the caller's text.
    """
    chain: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in chain:
        chain.append(current)
        current = current.__cause__ or current.__context__
    for link in reversed(chain):
        frames = "".join(traceback.format_tb(link.__traceback__))
        logger.error("%s\n%s", type(link).__qualname__, frames)
