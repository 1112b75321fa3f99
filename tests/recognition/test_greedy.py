"""The loop of our own against the loop of transformers, on a real call."""

import copy

import numpy as np
import pytest
import torch
from rapidfuzz.distance import Levenshtein
from transformers import WhisperFeatureExtractor, WhisperForConditionalGeneration, WhisperTokenizerFast

from speech_pipeline.recognition import batch_decoder
from speech_pipeline.recognition.acceleration import PLAIN, Acceleration
from speech_pipeline.recognition.batch_decoder import BatchDecoder
from speech_pipeline.recognition.int8_linear import Int8OutputLayer, to_int8
from speech_pipeline.recognition.rows import Row
from speech_pipeline.recognition.windows import Window
from tests.recognition.listening import decoded_rows, encoder_states, recorded_passes, request, tokens_of


@pytest.fixture(scope="module")
def states(decoder: BatchDecoder, call_windows: list[Window]) -> torch.Tensor:
    return encoder_states(decoder, call_windows)


def changed(
    decoder: BatchDecoder,
    model: WhisperForConditionalGeneration | None = None,
    audio_dtype: torch.dtype | None = None,
) -> BatchDecoder:
    """A decoder that differs in its model or in the precision of the audio."""
    tokenizer, extractor = decoder.vocabulary._tokenizer, decoder._feature_extractor
    return BatchDecoder(model or decoder.model, tokenizer, extractor, None, Acceleration(True, audio_dtype))


def all_tokens(decoder: BatchDecoder, windows: list[Window], states: torch.Tensor) -> list[int]:
    """Of all windows, one after the other."""
    return [token for row in decoded_rows(decoder, windows, states=states, language="en") for token in tokens_of(row)]


@pytest.fixture(scope="module")
def plain(
    model: WhisperForConditionalGeneration, tokenizer: WhisperTokenizerFast, feature_extractor: WhisperFeatureExtractor
) -> BatchDecoder:
    return BatchDecoder(model, tokenizer, feature_extractor, None, PLAIN)


@pytest.fixture(scope="module")
def static(decoder: BatchDecoder) -> BatchDecoder:
    """A decoder with static steps, for batches of up to 4 rows."""
    tokenizer, extractor = decoder.vocabulary._tokenizer, decoder._feature_extractor
    return BatchDecoder(decoder.model, tokenizer, extractor, None, Acceleration(True, static_rows=(1, 2, 4)))


@pytest.fixture(params=["growing", "static"])
def loop(request: pytest.FixtureRequest, decoder: BatchDecoder, static: BatchDecoder) -> BatchDecoder:
    """The loop of our own, in each of its forms."""
    return static if request.param == "static" else decoder


@pytest.mark.parametrize(
    "parameters",
    [
        {"language": "en", "temperature": [0.0]},
        {"temperature": [0.0]},
        {"language": "en", "temperature": [0.6], "prompt": "A telephone call."},
        {"language": "de", "task": "translate", "temperature": [0.0], "hotwords": "Diane"},
    ],
    ids=["greedy", "language found", "sampled after a prompt", "translated"],
)
def test_writes_what_transformers_write(
    loop: BatchDecoder,
    plain: BatchDecoder,
    call_windows: list[Window],
    states: torch.Tensor,
    parameters: dict[str, object],
) -> None:
    ours = decoded_rows(loop, call_windows, states=states, **parameters)
    theirs = decoded_rows(plain, call_windows, states=states, **parameters)
    assert [tokens_of(row) for row in ours] == [tokens_of(row) for row in theirs]
    assert any(len(tokens_of(row)) > 5 for row in ours)
    for our, their in zip(ours, theirs, strict=True):
        assert our.best is not None
        assert their.best is not None
        assert (our.language, our.best.complete) == (their.language, their.best.complete)
        assert our.no_speech_probability == pytest.approx(their.no_speech_probability, abs=1e-4)
        assert_same_reading(our, their)


def assert_same_reading(our: Row, their: Row) -> None:
    assert our.best is not None
    assert their.best is not None
    ours, theirs = our.best.reading, their.best.reading
    assert np.allclose(ours.log_probabilities, theirs.log_probabilities, atol=1e-3)
    assert np.allclose(ours.attention.strength, theirs.attention.strength, atol=1e-4)
    assert np.allclose(ours.attention.contrast, theirs.attention.contrast, atol=1e-2)


def test_a_row_whose_text_has_ended_takes_no_further_part(
    decoder: BatchDecoder, model: WhisperForConditionalGeneration, call_windows: list[Window], states: torch.Tensor
) -> None:
    with recorded_passes(model) as passes:
        rows = decoded_rows(decoder, call_windows, states=states, language="en", temperature=[0.0])
    lengths = [len(tokens_of(row)) + 1 for row in rows]
    # One pass finds how likely silence is, the others write a token for each row that is not done.
    assert [count for count, _ in passes[1:]] == [
        sum(length > step for length in lengths) for step in range(max(lengths))
    ]


def test_rows_do_not_depend_on_their_batch(
    loop: BatchDecoder, call_windows: list[Window], states: torch.Tensor
) -> None:
    together = decoded_rows(loop, call_windows, states=states, language="en", temperature=[0.0])
    for place, window in enumerate(call_windows):
        (alone,) = decoded_rows(loop, [window], states=states[place, None], language="en", temperature=[0.0])
        assert tokens_of(alone) == tokens_of(together[place])
        assert_same_reading(alone, together[place])


def test_a_cut_text_is_read_as_by_transformers(
    loop: BatchDecoder,
    plain: BatchDecoder,
    call_windows: list[Window],
    states: torch.Tensor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(batch_decoder, "max_new_tokens", lambda _duration_s: 5)
    ours, theirs = (
        decoded_rows(each, call_windows, states=states, language="en", temperature=[0.0]) for each in (loop, plain)
    )
    assert not all(row.best.complete for row in ours if row.best)
    for our, their in zip(ours, theirs, strict=True):
        assert tokens_of(our) == tokens_of(their)
        assert_same_reading(our, their)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.int8], ids=["bfloat16", "int8"])
def test_less_precise_keys_and_values_change_next_to_nothing(
    decoder: BatchDecoder, call_windows: list[Window], states: torch.Tensor, dtype: torch.dtype
) -> None:
    halved = changed(decoder, audio_dtype=dtype)
    whole, half = (all_tokens(each, call_windows, states) for each in (decoder, halved))
    assert len(whole) > 30
    assert Levenshtein.distance(whole, half) <= 0.03 * len(whole)


def test_rounding_the_output_layer_changes_no_token(
    decoder: BatchDecoder, call_windows: list[Window], states: torch.Tensor
) -> None:
    rounded = copy.copy(decoder.model)
    rounded._modules = dict(rounded._modules)
    rounded.add_module("proj_out", Int8OutputLayer(decoder.model.proj_out))
    others = changed(decoder, rounded)
    whole, compared = (
        [tokens_of(row) for row in decoded_rows(each, call_windows, states=states, language="en", temperature=[0.0])]
        for each in (decoder, others)
    )
    assert compared == whole


def test_integers_change_few_tokens(decoder: BatchDecoder, call_windows: list[Window], states: torch.Tensor) -> None:
    model = copy.deepcopy(decoder.model)
    to_int8(model.get_decoder())
    model.add_module("proj_out", Int8OutputLayer(decoder.model.proj_out))
    integers = changed(decoder, model)
    whole, rounded = (all_tokens(each, call_windows, states) for each in (decoder, integers))
    assert len(whole) > 30
    assert Levenshtein.distance(whole, rounded) <= 0.1 * len(whole)


def test_rows_that_are_tried_again_write_what_transformers_write(
    loop: BatchDecoder, plain: BatchDecoder, call_windows: list[Window], states: torch.Tensor
) -> None:
    # Which rows are doubtful, and go on at which temperature, differs from row to row.
    ladders: list[list[float]] = [[0.0, 0.4], [0.6, 0.2], [0.0], [0.2, 0.4, 0.8]]

    def decoded(by: BatchDecoder) -> list[Row]:
        rows = [
            Row(window, request(language="en", temperature=ladder, logprob_threshold=-0.25), elected="en", states=state)
            for window, ladder, state in zip(call_windows, ladders, states.split(1), strict=False)
        ]
        with torch.inference_mode():
            by.decode(rows)
        return rows

    ours, theirs = decoded(loop), decoded(plain)
    assert {row.doubtful for row in ours} == {True, False}
    for our, their in zip(ours, theirs, strict=True):
        assert tokens_of(our) == tokens_of(their)
        assert_same_reading(our, their)


def test_a_batch_that_is_too_large_for_static_steps_does_without(
    decoder: BatchDecoder, static: BatchDecoder, call_windows: list[Window], states: torch.Tensor
) -> None:
    windows, many = call_windows * 3, states.repeat(3, 1, 1)
    assert len(windows) > 4
    assert all_tokens(static, windows, many) == all_tokens(decoder, windows, many)
    # The tensors of the smaller batches are as good as new afterwards.
    assert all_tokens(static, call_windows, states) == all_tokens(decoder, call_windows, states)
