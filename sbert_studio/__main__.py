"""Entry point of ``python -m sbert_studio``, also used by ``accelerate launch -m`` and ``torchrun -m``."""

from .cli import main

if __name__ == "__main__":
    main()
