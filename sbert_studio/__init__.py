"""SBERT Studio: explore texts in a browser and fine-tune sentence embedding models.

:mod:`~sbert_studio.data` reads tables; :mod:`~sbert_studio.models` encodes texts; :mod:`~sbert_studio.explore` searches, clusters and
maps them; :mod:`~sbert_studio.training` fine-tunes models with :mod:`~sbert_studio.losses`; :mod:`~sbert_studio.evaluation` evaluates
them. The page, the command line and the API share :class:`sbert_studio.services.Studio`.
"""

__version__ = "0.1.0"
