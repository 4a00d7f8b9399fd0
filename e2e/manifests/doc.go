// Package manifests holds the YAML of the documentation to account: what a reader copies is taken by whom it is for.
//
// Its test reads every yaml block of every page, and every file of docs/examples. Objects are applied to a real API
// server, with the CustomResourceDefinitions of the projects that they belong to; configurations are read by the programs
// that they configure. Tests of single frameworks then make the pods that a manifest describes, as the framework's
// controller makes them, and have a stock kube-scheduler with muster place them.
//
// The definitions are not in this repository: [Definitions] takes them from the projects' Go modules, in the versions that
// definitions/go.mod pins.
package manifests
