// Package topology decides how many pods of a gang go to which node of a network that is a tree of domains: blocks, racks and
// whatever else labels of nodes tell.
//
// A [Tree] numbers the domains of a cluster. [Tree.Pack] divides pods that are alike over its nodes, where slots say how many of
// them each node takes. The division is the best one by an order that is the same at each level: as few domains as possible, the
// upper levels first, then as even as possible if that is asked for, and then as little as possible left over in the domains
// that are used, so that others stay whole. It is found by dynamic programming over the children of each domain, and it is
// exact.
//
// Nothing here knows of pods or of predicates: what proves a division is in package placement.
package topology
