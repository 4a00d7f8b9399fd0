// Package uninstall finds what muster has left in a cluster, in whatever way it was installed, and takes it away: policies, objects of its
// installation, what it wrote on pods, groups, nodes and namespaces, its records, and its definitions. What is others' stays.
package uninstall
