// Package loop looks for something to plan every so often, and when a pod has been pending for long
// enough or a node has come; makes plans into objects; and has them carried out (package executor).
package loop
