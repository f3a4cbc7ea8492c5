"""SBERT Studio: explore sentences in a browser and fine-tune the model that compares them.

Tables are read by :mod:`~sbert_studio.data`, encoded by :mod:`~sbert_studio.models`, searched, clustered and mapped by
:mod:`~sbert_studio.explore`, used for :mod:`~sbert_studio.evaluation`, and for :mod:`~sbert_studio.training` with
:mod:`~sbert_studio.losses`. The page, the command line and the API share :class:`sbert_studio.services.Studio`.
"""

__version__ = "0.1.0"
