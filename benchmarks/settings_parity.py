"""The vectors and similarities of model folders beside sentence-transformers': ``python benchmarks/settings_parity.py FOLDER...``.

For each folder the largest difference of a component of a vector, over texts of many kinds and lengths: plain, as queries and as documents
(``encode``, ``encode_query``, ``encode_document``), and of the similarity that the model's settings ask for (``similarity``). The bundled
model ``multilingual-e5-small``, which sentence-transformers cannot read, is saved in float32 first and read by both; its column ``packed``
is the difference between the bundled weights of four bits and that folder. Exit status 1 where a difference is more than 1e-5.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from sbert_studio.errors import StudioError
from sbert_studio.models.catalog import Catalog
from sbert_studio.models.similarity import similarity
from sbert_studio.settings import Settings
from sbert_studio.workspace import Workspace

MOST = 1e-5
MULTILINGUAL = "multilingual-e5-small"
TEXTS = [
    "I lost my card.",
    "How do I get a refund for a parcel that never came? " * 12,
    "",
    "我的银行卡丢了，怎么办？",
    "Ich habe meine Karte verloren.",
    "Где моя посылка?",
    "カードをなくしました。",
    "long " * 700,
    "Café  naïve\tresumé\n№ ½",
    "🙂🙂 ok",
]


def differences(folder: Path, catalog: Catalog) -> dict[str, float]:
    """Return the largest difference of each kind between our answers for ``folder`` and sentence-transformers'.

    In sentence-transformers 6.2 ``encode_document`` passes over a prompt named ``passage``; it is given by hand there.
    """
    from sentence_transformers import SentenceTransformer

    ours = catalog.load(str(folder), allow_folders=True)
    peer: Any = SentenceTransformer(str(folder), device="cpu")
    named = next((name for name in ("document", "passage", "corpus") if peer.prompts.get(name)), None)
    theirs = {
        "plain": peer.encode(TEXTS),
        "query": peer.encode_query(TEXTS),
        "document": peer.encode_document(TEXTS, prompt_name=named) if named else peer.encode_document(TEXTS),
    }
    roles: dict[str, Any] = {"plain": "plain", "query": "query", "document": "document"}
    vectors = {name: ours.for_role(role).encode(TEXTS) for name, role in roles.items()}
    found = {name: float(np.abs(vectors[name] - theirs[name]).max()) for name in theirs}
    both = (
        similarity(vectors["query"], vectors["document"], ours.similarity_name),
        np.asarray(peer.similarity(theirs["query"], theirs["document"])),
    )
    return found | {"similarity": float(np.abs(both[0] - both[1]).max() / max(1.0, float(np.abs(both[1]).max())))}


def main() -> int:
    """Print the table; return 1 where a difference is too large."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", type=Path, nargs="*", metavar="FOLDER")
    folders: list[Path] = parser.parse_args().folders
    print("| model | similarity function | plain | query | document | similarity | packed |\n| --- | --- | --- | --- | --- | --- | --- |")
    worst = 0.0
    with tempfile.TemporaryDirectory() as place:
        catalog = Catalog(Workspace(Settings.from_env().home), device="cpu")
        packed: dict[Path, float] = {}
        if MULTILINGUAL in catalog.bundled():
            saved = Path(place) / MULTILINGUAL
            catalog.load_fresh(MULTILINGUAL).save(saved)
            shared, dense = catalog.load(MULTILINGUAL), catalog.load(str(saved), allow_folders=True)
            packed[saved] = float(np.abs(shared.encode(TEXTS) - dense.encode(TEXTS)).max())
            folders = [*folders, saved]
        for folder in folders:
            try:
                found = differences(folder, catalog)
            except StudioError as error:
                print(f"| {folder.name} | refused: {error} | | | | | |")
                continue
            worst = max(worst, *found.values(), packed.get(folder, 0.0))
            cells = " | ".join(f"{value:.1e}" for value in found.values())
            by = catalog.load(str(folder), allow_folders=True).similarity_name
            print(f"| {folder.name} | {by} | {cells} | {f'{packed[folder]:.1e}' if folder in packed else ''} |")
    return 1 if worst > MOST else 0


if __name__ == "__main__":
    sys.exit(main())
