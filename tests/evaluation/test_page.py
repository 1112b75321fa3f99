"""The page of differences: what it shows, that it loads nothing, and that texts cannot become markup."""

from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from speech_pipeline.evaluation.evaluation import Figures, Result
from speech_pipeline.evaluation.manifest import Recording
from speech_pipeline.evaluation.page import page
from speech_pipeline.evaluation.scores import align_words, score
from speech_pipeline.transcript import Segment, SpeakerTurn, Transcript, Word
from tests.evaluation import worked_example


class Page(HTMLParser):
    """Elements with their attributes, and the words by kind of difference."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append(data.strip())

    def with_class(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for _, attributes in self.elements if name in (attributes.get("class") or "").split()]


def result_of(recording: Recording, transcript: Transcript) -> Result:
    alignments = align_words(recording, transcript)
    figures = Figures(score(recording, transcript, alignments), audio_s=transcript.duration, seconds=1.0)
    return Result(recording, transcript, alignments, "en", figures)


def rendered(*results: Result) -> Page:
    return Page(page(results, sum((result.figures for result in results), Figures())))


@pytest.fixture(scope="module")
def shown() -> Page:
    return rendered(result_of(worked_example.recording(), worked_example.transcript()))


def test_differences_stand_in_their_context(shown: Page) -> None:
    start = shown.texts.index("Ann")
    assert shown.texts[start : start + 8] == ["Ann", "so", "Ann", "SPEAKER_00", "hello", "hello", "there", "their"]
    in_legend = 1
    assert len(shown.with_class("deletion")) == 1 + in_legend
    assert len(shown.with_class("insertion")) == 1 + in_legend
    assert len(shown.with_class("substitution")) == 1 + in_legend
    assert len(shown.with_class("equal")) == 8
    assert len(shown.with_class("speaker")) == 1 + in_legend  # i, given to Ann's label


def test_timeline_has_the_reference_above_what_was_found_in_the_same_colours(shown: Page) -> None:
    bars = [attributes for tag, attributes in shown.elements if tag == "rect"]
    assert [(bar["class"], bar["x"], bar["width"]) for bar in bars] == [
        ("c0", "0.0%", "40.0%"),
        ("c1", "40.0%", "50.0%"),
        ("c0", "5.0%", "45.0%"),
        ("c1", "50.0%", "45.0%"),
    ]
    heights = [int(str(bar["y"])) for bar in bars]
    assert heights == sorted(set(heights))
    assert {"Ann: 0.00 to 4.00 s", "SPEAKER_01: 5.00 to 9.50 s"} <= set(shown.texts)


def test_figures_are_those_of_the_table(shown: Page) -> None:
    assert {"30.0 %", "22.2 %", "50.0 %"} <= set(shown.texts)


def test_nothing_is_loaded_and_nothing_runs(shown: Page) -> None:
    tags = {tag for tag, _ in shown.elements}
    assert not tags & {"script", "link", "img", "iframe", "object", "embed", "base", "form", "a"}
    for _, attributes in shown.elements:
        assert not {"src", "href", "xlink:href", "action"} & set(attributes)
        assert not any(name.startswith("on") for name in attributes)
    policies = [attributes["content"] for _, attributes in shown.elements if "http-equiv" in attributes]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'"]
    styles = "".join(text for text in shown.texts if "{" in text)
    assert "url(" not in styles
    assert "@import" not in styles


@pytest.mark.parametrize(
    "evil", ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "{{ 7 * 7 }}", "&lt;b>"]
)
def test_texts_names_and_labels_cannot_become_markup(evil: str) -> None:
    word = Word(f" {evil}", 0.0, 1.0, speaker=evil)
    segment = Segment(word.text, 0.0, 1.0, (word,), speaker=evil)
    heard = Transcript(
        (segment,), (segment,), (SpeakerTurn(evil, 0.0, 1.0),), duration=1.0, timings={"diarization": 0.1}
    )
    unknown = Recording(evil, Path("a.wav"), turns=(SpeakerTurn(evil, 0.0, 0.5),))
    known = replace(unknown, name="known", languages=("zh",), text=evil)
    found = rendered(result_of(unknown, heard), result_of(known, heard))
    assert not {"script", "img"} & {tag for tag, _ in found.elements}
    assert not any("onerror" in attributes for _, attributes in found.elements)
    assert evil in found.texts
    assert "49" not in found.texts


def test_more_labels_than_speakers_and_no_turns_at_all() -> None:
    turns = tuple(SpeakerTurn(f"SPEAKER_{number:02d}", number, number + 1.0) for number in range(10))
    heard = Transcript(turns=turns, duration=10.0, timings={"diarization": 0.1})
    bars = rendered(result_of(worked_example.recording(), heard)).elements
    assert sum(tag == "rect" for tag, _ in bars) == 2 + 10
    silent = rendered(result_of(Recording("a.wav", Path("a.wav"), text=""), Transcript(duration=0.0)))
    assert not any(tag == "svg" for tag, _ in silent.elements)


def test_what_was_heard_is_shown_where_the_text_is_not_known() -> None:
    heard = Transcript((Segment(" Good morning.", 0.0, 1.0),), duration=1.0)
    assert "Good morning." in rendered(result_of(Recording("a.wav", Path("a.wav")), heard)).texts[-1]


def test_channels_stand_apart() -> None:
    segments = tuple(Segment(" yes", 0.0, 1.0, speaker=f"CHANNEL_0{channel}", channel=channel) for channel in (0, 1))
    recording = Recording("a.wav", Path("a.wav"), ("en",), channels=("yes", "no"))
    found = rendered(result_of(recording, Transcript(segments, segments, duration=1.0)))
    assert {"Channel 1", "Channel 2"} <= set(found.texts)


def test_no_recordings() -> None:
    assert "Evaluation" in rendered().texts
