"""What every backbone for inference has, and which there are."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..unpadded.sequences import Sequences

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"gelu": functional.gelu, "relu": functional.relu, "tanh": torch.tanh}
NETWORKS: dict[str, type[LeanNetwork]] = {}
"""By the ``model_type`` of ``config.json``."""


class LeanNetwork(nn.Module):
    """A backbone whose layers carry the names of the library's own, so that its files and whatever walks over them fit both.

    It drops nothing out and keeps no gradients: what is to be trained is read by the library.

    Args:
        config: the library's configuration of the model.

    Attributes:
        origin: the file that its weights are mapped from, and its stamp then; ``None``: they are in memory.
    """

    base_model_prefix: ClassVar[str]
    origin: tuple[Path, str] | None = None
    embeddings: Any
    pooler: Any

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.config = config

    @classmethod
    def fits(cls, config: Any) -> bool:
        """Whether the configuration asks for nothing that is not here."""
        return (
            not (config.is_decoder or config.add_cross_attention or config.is_encoder_decoder or config.chunk_size_feed_forward)
            and config.hidden_act in ACTIVATIONS
            and config.hidden_size % config.num_attention_heads == 0
            and getattr(config, "quantization_config", None) is None
            and getattr(config, "_attn_implementation", None) in (None, "sdpa")
        )

    def get_input_embeddings(self) -> nn.Module:
        """The table of the tokens."""
        return self.embeddings.word_embeddings  # type: ignore[no-any-return]

    @abstractmethod
    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> SimpleNamespace:
        """Vectors (b, t, hidden) of the tokens (b, t), as ``last_hidden_state``; ``attention_mask`` (b, t) is 0 where one is padding."""

    @abstractmethod
    def unpadded(self, ids: Tensor, of: Sequences) -> Tensor:
        """Vectors (tokens, hidden) of the tokens (tokens,) of texts one behind the other."""

    def save_pretrained(self, folder: Path) -> None:
        """Write the weights and the settings as the library does, by the library."""
        from transformers import AutoModel

        whole = AutoModel.from_config(self.config, dtype=torch.float32)
        whole.load_state_dict(self.state_dict())
        whole.save_pretrained(folder)


def table(rows: int, width: int) -> nn.Embedding:
    """A table whose values are still to come: what it draws by itself would, of layers without memory, read in PyTorch's compiler."""
    made: nn.Embedding = nn.Embedding.from_pretrained(torch.empty(rows, width))  # type: ignore[no-untyped-call]
    return made


def attended(mask: Tensor | None) -> Tensor | None:
    """(b, t) → (b, 1, t, t) of which token may look at which; ``None`` where all may at all."""
    if mask is None or bool(mask.all()):
        return None
    length = mask.shape[1]
    return mask.bool()[:, None, None, :].expand(-1, 1, length, length)
