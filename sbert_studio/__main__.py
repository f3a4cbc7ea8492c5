"""``python -m sbert_studio``: the command line, also under ``accelerate launch -m`` and ``torchrun -m``."""

from .cli import main

if __name__ == "__main__":
    main()
