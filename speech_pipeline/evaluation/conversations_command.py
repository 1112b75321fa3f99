"""``python -m speech_pipeline conversations``: make conversations to evaluate on."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import click

from speech_pipeline.console import progress_bar
from speech_pipeline.errors import InvalidParameters


@click.command(short_help="Make conversations with exact references from single-speaker recordings.")
@click.option("--data", required=True, type=click.Path(exists=True, file_okay=False, path_type=Path), help="Folder.")
@click.option("--output", "-o", required=True, type=click.Path(file_okay=False, path_type=Path), help="Folder.")
@click.option("--count", type=click.IntRange(1, 1000), default=12, show_default=True, help="How many.")
@click.option("--minutes", type=float, metavar="M", help="Length of each. Default: from 1 to 5 in turn.")
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed makes the same conversations.")
@click.option("--language", "languages", multiple=True, metavar="L", help="Only clips in this language, such as en.")
@click.option("--speakers", type=int, metavar="N", help="People in each. Default: from 2 to 6 in turn.")
@click.option("--overlap", type=float, metavar="SHARE", help="Share of the speech that overlaps. Default: 0 to 0.2.")
@click.option("--noise-snr", type=float, metavar="DB", help="Ratio of speech to noise. Default: none, 30, 20 and 10.")
def conversations(
    data: Path,
    output: Path,
    count: int,
    minutes: float | None,
    seed: int,
    languages: tuple[str, ...],
    speakers: int | None,
    overlap: float | None,
    noise_snr: float | None,
) -> None:
    """Make conversations with exact references from single-speaker recordings.

    The folder --data holds recordings and a manifest.json; the folder --output gets the same, for evaluate --data.
    """
    from speech_pipeline.evaluation.clips import load_clips
    from speech_pipeline.evaluation.conversations import Conversation, make_conversation
    from speech_pipeline.evaluation.conversations_folder import write_conversations
    from speech_pipeline.evaluation.conversations_recipe import default_recipes
    from speech_pipeline.languages import language_code

    if output.resolve() == data.resolve():
        raise click.UsageError("--output must be another folder than --data, whose manifest it would replace.")
    wanted = {"speakers": speakers, "overlap_share": overlap, "noise_snr_db": noise_snr}
    given = {name: value for name, value in wanted.items() if value is not None}
    try:
        codes = [language_code(language) for language in languages]
        recipes = default_recipes(count, minutes=minutes, seed=seed, languages=codes)
        recipes = tuple(replace(recipe, **given) for recipe in recipes)  # type: ignore[arg-type]
        clips = load_clips(data)

        def made() -> Iterator[tuple[str, Conversation]]:
            with progress_bar("Conversations") as progress:
                for number, recipe in enumerate(recipes):
                    progress("written", number / count)
                    yield f"conversation_{number + 1:02d}", make_conversation(clips, recipe)

        manifest = write_conversations(output, made())
    except InvalidParameters as error:
        raise click.UsageError(error.message) from error
    except ValueError as error:
        raise click.UsageError(f"--language {error}.") from error
    except OSError as error:
        raise click.FileError(str(output), hint=error.strerror) from error
    click.echo(f"Conversations written: {count}, in {click.format_filename(manifest.parent)}")
