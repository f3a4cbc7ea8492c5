"""SBERT Studio: explore sentences in a browser and tune the model that compares them.

Text comes in (:mod:`~sbert_studio.data`), becomes vectors (:mod:`~sbert_studio.models`), is compared, searched and
drawn (:mod:`~sbert_studio.explore`), is judged (:mod:`~sbert_studio.evaluation`) and teaches a better encoder
(:mod:`~sbert_studio.losses`, :mod:`~sbert_studio.training`). :class:`sbert_studio.services.Studio` is where the
page, the command line and the API meet these rooms.
"""

__version__ = "0.1.0"
