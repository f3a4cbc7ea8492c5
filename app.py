"""Start the studio: what a Space runs, and ``python app.py`` anywhere else; the same as ``sbert-studio app``."""

import sys

from sbert_studio.cli import main

if __name__ == "__main__":
    main(["app", *sys.argv[1:]])
