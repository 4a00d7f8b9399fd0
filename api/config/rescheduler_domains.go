package config

import (
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// FreeDomainsPolicy moves pods so that nodes of one topology domain (a rack, a block, a zone) are empty together, as a
// large gang needs them. The nodes that a plan empties are marked, and closed, as coalesce.mark and coalesce.closedFor
// say.
type FreeDomainsPolicy struct {
	// Key is the label of nodes by whose value they are of one domain, such as topology.kubernetes.io/rack. Respread may
	// not be there beside it. Defaults to "", with which no domain is freed.
	Key string `json:"key"`
	// Nodes is how many nodes of one domain are to be empty together. Set it to the number of nodes of your largest
	// gangs. Defaults to 1.
	Nodes int32 `json:"nodes"`
	// Domains is how many such domains there are to be. A plan frees one. Raise it when several such gangs come at a
	// time. Defaults to 1.
	Domains int32 `json:"domains"`
}

// Enabled reports whether domains are to be freed.
func (f FreeDomainsPolicy) Enabled() bool { return f.Key != "" }

func (f FreeDomainsPolicy) validate(path *field.Path) (errs field.ErrorList) {
	if f.Key != "" {
		errs = metav1validation.ValidateLabelName(f.Key, path.Child("key"))
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
