"""Running out of memory: how to tell, and how to give back what can be given back."""

import torch

from speech_pipeline.errors import OutOfMemory


def is_out_of_memory(error: BaseException) -> bool:
    """Whether a device, a library or the CPU's allocator had no memory left; they have no type of error in common."""
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return True
    text = str(error)
    return isinstance(error, RuntimeError) and any(
        sign in text for sign in ("allocate memory", "out of memory", "_STATUS_ALLOC_FAILED")
    )


def release_cached_memory() -> None:
    """Hand back what torch keeps for reuse on a GPU."""
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    if torch.backends.mps.is_available():
        torch.mps.empty_cache()


def no_room() -> OutOfMemory:
    """What to say where a batch of one window did not fit."""
    return OutOfMemory("Not even one window fits in memory; deploy a smaller model or a larger machine.")
