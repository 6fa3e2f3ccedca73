"""Vectors made of scalar loops over lanes: the tree of a loop's body, what differs by lane in it, and the code for a vector of lanes."""
