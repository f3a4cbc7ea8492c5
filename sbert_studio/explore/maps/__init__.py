"""Maps: neighbours become a graph, the graph a layout; new points are placed on a map that stands."""
