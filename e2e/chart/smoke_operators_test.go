package chart

import (
	"slices"

	"muster.dev/muster/gang/operators/kinds"
)

// operators has the API server know the custom resources of other controllers, so that muster reads them.
func (s *smoke) operators() {
	s.Helper()
	for _, kind := range kinds.All() {
		for _, resource := range slices.Concat(kind.Owners, kind.Groups) {
			if !resource.Core && !resource.BuiltIn {
				s.Define(resource.GroupVersionResource, resource.Kind)
			}
		}
	}
}
