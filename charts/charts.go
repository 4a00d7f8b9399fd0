// Package charts holds what the chart and the program share.
package charts

import _ "embed"

//go:embed muster/templates/_policies.tpl
var policies string

// Policies returns the templates of the admission policies, which define muster.policy.gates and others.
func Policies() string { return policies }
