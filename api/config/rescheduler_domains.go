package config

import (
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// FreeDomainsPolicy moves pods so that nodes of one topology domain (a rack, a block, a zone) are empty together, as a
// large gang needs them. The nodes that a plan empties are marked, and closed, as coalesce.mark and coalesce.closedFor
// say.
type FreeDomainsPolicy struct {
	// Enabled turns it on. Respread may not be there beside it. Defaults to false.
	Enabled bool `json:"enabled"`
	// Key is the label of nodes by whose value they are of one domain, such as topology.kubernetes.io/rack.
	// Required where it is enabled.
	Key string `json:"key"`
	// Nodes is how many nodes of one domain are to be empty together. Defaults to 1.
	Nodes int32 `json:"nodes"`
	// Domains is how many such domains there are to be. A plan frees one. Defaults to 1.
	Domains int32 `json:"domains"`
}

func (f FreeDomainsPolicy) validate(path *field.Path) (errs field.ErrorList) {
	switch at := path.Child("key"); {
	case f.Key != "":
		errs = metav1validation.ValidateLabelName(f.Key, at)
	case f.Enabled:
		errs = append(errs, field.Required(at, "the label of nodes that says their domain"))
	}
	for _, count := range []struct {
		name  string
		value int32
	}{{"nodes", f.Nodes}, {"domains", f.Domains}} {
		if count.value < 1 {
			errs = append(errs, field.Invalid(path.Child(count.name), count.value, "must be greater than zero"))
		}
	}
	return errs
}
