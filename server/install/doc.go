// Package install makes all that an installation of muster is: the objects that the chart makes, filled in by package helm, and the files
// of control-plane nodes. It prints them, applies the objects, and writes the files.
package install
