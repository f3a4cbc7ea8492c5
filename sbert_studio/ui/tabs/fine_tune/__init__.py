"""Fine-tune: upload examples, review the settings, and follow the run.

Upload scored pairs, labelled pairs, positive pairs, triplets or labelled texts, or make pairs from documents; review detected columns and
problems; start, stop and resume training; compare scores before and after; download the model.
"""
