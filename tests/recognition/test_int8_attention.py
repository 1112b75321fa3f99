import threading

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from speech_pipeline.recognition.int8_attention import attend
from tests.programs import run_program


def plain(queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """The same in double precision."""
    weights = torch.softmax((queries.double()[:, None] @ keys.double()), dim=-1)
    return (weights @ values.double())[:, 0].float()


def made(pairs: int, width: int, frames: int, size: float, seed: int = 0) -> tuple[torch.Tensor, ...]:
    """Queries whose products with the keys are of a size, keys and values."""
    generator = torch.Generator().manual_seed(seed)
    keys, values = (
        torch.randint(-127, 128, shape, dtype=torch.int8, generator=generator)
        for shape in ((pairs, width, frames), (pairs, frames, width))
    )
    return torch.randn(pairs, width, generator=generator) * size / (73 * width**0.5), keys, values


@settings(max_examples=60, deadline=None)
@given(
    pairs=st.integers(1, 9),
    width=st.sampled_from([8, 64, 80]),
    frames=st.integers(1, 70),
    size=st.sampled_from([0.0, 1e-3, 1.0, 20.0, 1e3, 1e6]),
    seed=st.integers(0, 100),
)
def test_gives_what_floats_give(pairs: int, width: int, frames: int, size: float, seed: int) -> None:
    inputs = made(pairs, width, frames, size, seed)
    found = attend(*inputs)
    # Products of a million are rounded to sixteenths, which moves weights by as much.
    assert torch.allclose(found, plain(*inputs), atol=0.01 if size < 1e6 else 15, rtol=1e-4)


def test_takes_tensors_that_are_not_contiguous() -> None:
    queries, keys, values = made(4, 64, 30, 1.0)
    apart = (queries.T.contiguous().T, keys.transpose(1, 2).contiguous().transpose(1, 2), values)
    assert torch.equal(attend(*apart), attend(queries, keys, values))


@pytest.mark.parametrize("callers", [4])
def test_serves_callers_in_several_threads(callers: int) -> None:
    inputs = [made(16, 64, 1_500, 3.0, seed) for seed in range(callers)]
    expected = [attend(*each) for each in inputs]
    found: dict[int, list[torch.Tensor]] = {number: [] for number in range(callers)}

    def call(number: int) -> None:
        for _ in range(10):
            found[number].append(attend(*inputs[number]))

    threads = [threading.Thread(target=call, args=(number,)) for number in range(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, results in found.items():
        assert len(results) == 10
        assert all(torch.equal(result, expected[number]) for result in results)


def test_leaves_the_number_of_threads_alone() -> None:
    program = """
import json, torch
from speech_pipeline.recognition.int8_attention import attend
keys = torch.ones(2, 64, 8, dtype=torch.int8)
attend(torch.ones(2, 64), keys, keys.transpose(1, 2))
print(json.dumps(torch.get_num_threads()))
"""
    assert run_program(program, OMP_NUM_THREADS="1", NUMBA_NUM_THREADS="2") == 1
