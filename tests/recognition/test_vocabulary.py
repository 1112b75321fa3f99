from pathlib import Path

import pytest

from speech_pipeline.recognition.vocabulary import MAX_PROMPT_TOKENS, Vocabulary
from tests.recognition.vocabularies import tokenizer_of, vocabulary_of


@pytest.fixture(scope="module")
def multilingual(starter_dir: Path) -> Vocabulary:
    return vocabulary_of(starter_dir / "whisper-base")


@pytest.fixture(scope="module")
def english(starter_dir: Path) -> Vocabulary:
    return vocabulary_of(starter_dir / "whisper-tiny.en")


def spelled(folder: Path, ids: list[int]) -> str:
    return tokenizer_of(folder).decode(ids)


@pytest.mark.parametrize(("language", "task"), [("en", "transcribe"), ("de", "translate"), ("jw", "transcribe")])
def test_a_multilingual_prompt_names_language_and_task(
    multilingual: Vocabulary, starter_dir: Path, language: str, task: str
) -> None:
    prompt = multilingual.prompt(language=language, task=task)
    expected = f"<|startoftranscript|><|{language}|><|{task}|><|notimestamps|>"
    assert spelled(starter_dir / "whisper-base", prompt) == expected


def test_an_english_only_prompt_names_neither(english: Vocabulary, starter_dir: Path) -> None:
    prompt = english.prompt(language="en", task="transcribe")
    assert spelled(starter_dir / "whisper-tiny.en", prompt) == "<|startoftranscript|><|notimestamps|>"
    assert not english.multilingual
    assert english.languages == {}


def test_languages_are_those_the_model_has_tokens_for(multilingual: Vocabulary, starter_dir: Path) -> None:
    assert multilingual.multilingual
    assert len(multilingual.languages) == 99
    assert "yue" not in multilingual.languages  # only large-v3 and its kin know it
    assert spelled(starter_dir / "whisper-base", [multilingual.languages["pt"]]) == "<|pt|>"


def test_special_tokens_are_where_openai_put_them(multilingual: Vocabulary, english: Vocabulary) -> None:
    assert (multilingual.end, multilingual.start, multilingual.no_timestamps) == (50257, 50258, 50363)
    assert (english.end, english.start, english.no_timestamps) == (50256, 50257, 50362)
    assert multilingual.no_speech == 50362
    assert english.no_speech == 50361


@pytest.mark.parametrize("model", ["whisper-base", "whisper-tiny.en"])
def test_previous_text_follows_its_start_token(starter_dir: Path, model: str) -> None:
    vocabulary = vocabulary_of(starter_dir / model)
    ids = vocabulary.previous(" ComfyUI", None, "Nor is Mr. Quilter's manner. ")
    assert spelled(starter_dir / model, ids) == "<|startofprev|> ComfyUI Nor is Mr. Quilter's manner."


@pytest.mark.parametrize("texts", [(), (None,), ("",), (" \n", None, "")])
def test_no_previous_text_gives_no_tokens(multilingual: Vocabulary, texts: tuple[str | None, ...]) -> None:
    assert multilingual.previous(*texts) == []


def test_blank_text_adds_nothing_to_other_text(multilingual: Vocabulary) -> None:
    assert multilingual.previous("a", " ", None, "b") == multilingual.previous("a", "b")


def test_long_previous_text_keeps_its_end(multilingual: Vocabulary) -> None:
    ids = multilingual.previous("before " * 300 + "and after " * 150)
    assert len(ids) == 1 + MAX_PROMPT_TOKENS
    assert multilingual.decode(ids[1:]).endswith("and after and after")
    assert "before" not in multilingual.decode(ids[1:])


@pytest.mark.parametrize(
    "special", ["<|endoftext|>", "<|startoftranscript|>", "<|de|>", "<|translate|>", "<|nospeech|>", "<|0.00|>"]
)
@pytest.mark.parametrize("model", ["whisper-base", "whisper-tiny.en"])
def test_special_tokens_spelled_in_a_prompt_do_not_reach_the_model(starter_dir: Path, special: str, model: str) -> None:
    vocabulary = vocabulary_of(starter_dir / model)
    ids = vocabulary.previous(f"before {special} after")
    assert max(ids[1:]) < vocabulary.end
    assert vocabulary.decode(ids).startswith(" before")
    assert vocabulary.decode(ids).endswith(" after")


def test_decoding_leaves_special_tokens_out(multilingual: Vocabulary, starter_dir: Path) -> None:
    words = tokenizer_of(starter_dir / "whisper-base").encode(" Hello , it 's me .", add_special_tokens=False)
    prompt = multilingual.prompt(language="en", task="transcribe")
    assert multilingual.decode([*prompt, *words, multilingual.end]) == " Hello , it 's me ."
    assert multilingual.decode([]) == ""


def test_hotwords_keep_their_place_before_a_long_prompt(multilingual: Vocabulary) -> None:
    ids = multilingual.previous("ComfyUI Quilter", "before " * 300 + "and after")
    text = multilingual.decode(ids[1:])
    assert len(ids) == 1 + MAX_PROMPT_TOKENS
    assert text.startswith(" ComfyUI Quilter before")
    assert text.endswith("and after")
