import pytest

from config import InferenceConfig
from speech_pipeline.recognition.guards import compression_ratio, is_doubtful, is_silence

ORDINARY = {
    "en": "Mr. Quilter is the apostle of the middle classes, and we are glad to welcome his gospel. Nor is his manner "
    "less interesting than his matter, though he tells us that at this festive season of the year we think of food.",
    "de": "Am nächsten Morgen fuhren wir mit dem Zug nach Köln, weil das Wetter endlich besser war und niemand "
    "mehr Lust hatte, noch einen Tag im Hotel zu verbringen.",
    "es": "La semana pasada fuimos al mercado para comprar fruta, y al volver encontramos a un viejo amigo que no "
    "habíamos visto desde hacía muchos años.",
    "ru": "Вчера вечером мы долго гуляли по набережной и разговаривали о том, как изменился город за последние годы.",
    "ja": "昨日は天気がよかったので、友達と一緒に公園へ行って、夕方まで写真を撮ったり話をしたりしました。",
    "zh": "昨天天气很好，我和朋友一起去公园散步，一直聊到傍晚才回家。",
    "ar": "ذهبنا أمس إلى السوق لشراء الفاكهة ثم التقينا بصديق قديم لم نره منذ سنوات طويلة.",
    "hi": "कल मौसम अच्छा था, इसलिए हम दोस्तों के साथ पार्क गए और शाम तक बातें करते रहे।",
}


def request(**parameters: object) -> InferenceConfig:
    return InferenceConfig.from_request(parameters)[0]


@pytest.mark.parametrize("text", ORDINARY.values(), ids=ORDINARY)
def test_ordinary_text_stays_below_the_threshold(text: str) -> None:
    assert 0 < compression_ratio(text) < 2.4
    assert not is_doubtful(compression_ratio(text), 0.0, -0.3, request())


@pytest.mark.parametrize(
    "text",
    [" Thank you." * 20, " I'm sorry." * 12, "ご視聴ありがとうございました。" * 8, "ha" * 60, " so so so so" * 12],
)
def test_text_that_repeats_is_above_the_threshold(text: str) -> None:
    assert compression_ratio(text) > 2.4
    assert is_doubtful(compression_ratio(text), 0.0, -0.1, request())


def test_no_text_has_ratio_0() -> None:
    assert compression_ratio("") == 0.0


@pytest.mark.parametrize(
    ("parameters", "ratio", "average", "doubtful"),
    [
        ({}, 2.4, -0.5, False),
        ({}, 2.5, -0.5, True),
        ({}, 1.5, -1.1, True),
        ({"compression_ratio_threshold": 3}, 2.5, -0.5, False),
        ({"compression_ratio_threshold": None}, 99.0, -0.5, False),
        ({"compression_ratio_threshold": None}, 99.0, -1.1, True),
        ({"logprob_threshold": -2}, 1.5, -1.1, False),
        ({"logprob_threshold": None}, 1.5, -50.0, False),
        ({"logprob_threshold": None}, 2.5, -50.0, True),
    ],
)
def test_text_is_doubtful_when_it_repeats_or_the_model_is_unsure(
    parameters: dict[str, object], ratio: float, average: float, doubtful: bool
) -> None:
    assert is_doubtful(ratio, 0.1, average, request(**parameters)) is doubtful


@pytest.mark.parametrize(
    ("parameters", "no_speech", "average", "silent"),
    [
        ({}, 0.9, -1.5, True),
        ({}, 0.9, -0.2, False),
        ({}, 0.5, -1.5, False),
        ({"no_speech_threshold": 0.3}, 0.5, -1.5, True),
        ({"no_speech_threshold": None}, 1.0, -50.0, False),
        ({"logprob_threshold": None}, 0.9, -0.2, True),
        ({"logprob_threshold": None}, 0.5, -0.2, False),
    ],
)
def test_silence_takes_a_silent_window_and_an_unsure_model(
    parameters: dict[str, object], no_speech: float, average: float, silent: bool
) -> None:
    assert is_silence(no_speech, average, request(**parameters)) is silent


def test_a_window_held_for_silence_is_not_tried_again() -> None:
    assert not is_doubtful(1.5, 0.9, -1.5, request())
    assert is_doubtful(1.5, 0.9, -1.5, request(no_speech_threshold=None))


def test_a_repetition_is_tried_again_even_in_a_window_held_for_silence() -> None:
    assert is_doubtful(5.0, 0.9, -1.5, request())
