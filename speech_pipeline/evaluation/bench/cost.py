"""What an hour of audio costs, from the price of a machine and the speed that was measured on one."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

PRICES_FROM = (
    "Prices in US dollars from the Inference Endpoints documentation (support/pricing) as of autumn 2025; they change, "
    "so look them up and give yours with --price-per-hour."
)


@dataclass(frozen=True, slots=True)
class Instance:
    """One row of the price list of Inference Endpoints.

    Attributes:
        name: provider, type and size.
        hardware: processor or accelerator, and how many.
        price_per_hour: US dollars.
    """

    name: str
    hardware: str
    price_per_hour: float


INSTANCES = (
    Instance("aws intel-spr x1", "1 vCPU Sapphire Rapids", 0.033),
    Instance("aws intel-spr x2", "2 vCPU Sapphire Rapids", 0.067),
    Instance("aws intel-spr x4", "4 vCPU Sapphire Rapids", 0.134),
    Instance("aws intel-spr x8", "8 vCPU Sapphire Rapids", 0.268),
    Instance("aws intel-spr x16", "16 vCPU Sapphire Rapids", 0.536),
    Instance("gcp intel-spr x2", "2 vCPU Sapphire Rapids", 0.10),
    Instance("azure intel-xeon x2", "2 vCPU Xeon", 0.12),
    Instance("aws nvidia-t4 x1", "1 NVIDIA T4, 14 GB", 0.50),
    Instance("gcp nvidia-l4 x1", "1 NVIDIA L4, 24 GB", 0.70),
    Instance("aws nvidia-l4 x1", "1 NVIDIA L4, 24 GB", 0.80),
    Instance("aws nvidia-a10g x1", "1 NVIDIA A10G, 24 GB", 1.00),
    Instance("aws nvidia-l40s x1", "1 NVIDIA L40S, 48 GB", 1.80),
    Instance("aws nvidia-a100 x1", "1 NVIDIA A100, 80 GB", 2.50),
    Instance("aws nvidia-h200 x1", "1 NVIDIA H200, 141 GB", 5.00),
)
"""Rows that Whisper and diarization are run on: one accelerator at most."""


def cost_per_audio_hour(price_per_hour: float, rtfx: float) -> float:
    """Price of one hour of audio on a machine that is kept busy.

    Args:
        price_per_hour: of the machine, in any currency.
        rtfx: seconds of audio for each second of work, above 0.
    """
    return price_per_hour / rtfx


def cost_table(rtfx: float, price_per_hour: float | None = None) -> list[dict[str, Any]]:
    """What an hour of audio would cost on each instance if it were as fast as what was measured.

    Only for the machine that was measured is this a fact; for the others ``rtfx_to_match`` says how fast they would
    have to be to cost no more than it.

    Args:
        rtfx: what was measured.
        price_per_hour: of the machine it was measured on, where that is known.

    Returns:
        Rows with ``instance``, ``hardware``, ``price_per_hour``, ``cost_per_audio_hour`` and ``rtfx_to_match`` (None
        where no price of the measured machine is known, and for the machine itself).
    """
    rows: list[Instance] = [*INSTANCES]
    measured: Sequence[Instance] = ()
    if price_per_hour is not None:
        measured = (Instance("the measured machine", "", price_per_hour),)
    return [
        {
            "instance": row.name,
            **{name: value for name, value in asdict(row).items() if name != "name"},
            "cost_per_audio_hour": cost_per_audio_hour(row.price_per_hour, rtfx),
            "rtfx_to_match": None
            if price_per_hour is None or row in measured
            else row.price_per_hour / cost_per_audio_hour(price_per_hour, rtfx),
        }
        for row in (*measured, *rows)
    ]
