"""Steps of the decoder between tensors that stay where they are, so that a GPU replays them as CUDA graphs.

A step of one token is hundreds of small operations, which a GPU has done sooner than Python has asked for them. A graph
asks for all of them at once.
"""

from collections.abc import Callable, Container, Sequence

import torch
from torch import Tensor

from speech_pipeline.recognition.cross_attention import AudioKeysValues, FloatKeysValues
from speech_pipeline.recognition.decoder_step import DecoderStep

_WARM_UPS = 3
"""Steps before a graph is made, in which libraries choose their kernels and take their working memory."""

Step = tuple[Tensor, dict[int, Tensor]]


class StaticSteps:
    """One-token steps of batches of up to so many rows as the largest graph has; one batch at a time.

    On a GPU they are CUDA graphs, made when the object is. On other devices the same operations run as they are, which
    is what tests compare.
    """

    def __init__(
        self, step: DecoderStep, audio: FloatKeysValues, watched: Container[int], sizes: Sequence[int]
    ) -> None:
        """Make room for the largest batch, and on a GPU the graphs.

        Args:
            step: the decoder.
            audio: of any batch, for its shape, dtype and device.
            watched: layers whose queries are given back.
            sizes: numbers of rows that have a graph, in ascending order.
        """
        self._most = most = sizes[-1]
        self.text = step.new_static_text(most)
        self._step = step
        self._watched = watched
        self._audio = audio.room_for(most)
        self._tokens = torch.zeros(most, 1, dtype=torch.long, device=self.text.position.device)
        self._pool: tuple[int, int] | None = None
        make = self._graph if self._tokens.is_cuda else self._eager
        # The largest first: the others find its working memory.
        self._replays = {rows: make(rows) for rows in reversed(sizes)}

    def take(self, audio: AudioKeysValues) -> bool:
        """Begin a text on the audio of a batch, which moves to where the graphs read it.

        Returns:
            False, with nothing done, for a batch that is too large or kept in another format.
        """
        if len(audio.order) > self._most or not isinstance(audio, FloatKeysValues):
            return False
        audio.move_into(self._audio)
        self.text.clear()
        return True

    def __call__(self, tokens: Tensor) -> Step:
        """What may follow ``tokens``, int64 [rows, 1], on the audio that was taken; see :class:`DecoderStep`.

        What is returned is overwritten by the next step.
        """
        rows = len(tokens)
        self._tokens[:rows] = tokens
        logits, seen = self._replays[min(size for size in self._replays if size >= rows)]()
        return logits[:rows], {layer: queries[:rows] for layer, queries in seen.items()}

    def _eager(self, rows: int) -> Callable[[], Step]:
        return lambda: self._step(self._tokens[:rows], self._audio, self.text, self._watched)

    @torch.inference_mode()
    def _graph(self, rows: int) -> Callable[[], Step]:
        work = self._eager(rows)
        with torch.cuda.device(self._tokens.device):
            stream = torch.cuda.Stream()
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                for _ in range(_WARM_UPS):
                    work()
            torch.cuda.current_stream().wait_stream(stream)
            graph = torch.cuda.CUDAGraph()
            # Other threads may go on using the GPU meanwhile.
            with torch.cuda.graph(graph, pool=self._pool, capture_error_mode="thread_local"):
                outputs = work()
        self._pool = self._pool or graph.pool()
        self.text.clear()

        def replay() -> Step:
            graph.replay()
            return outputs

        return replay
