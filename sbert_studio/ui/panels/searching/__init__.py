"""The parts of the Search tab: filters on columns, the hits, and another model beside."""
