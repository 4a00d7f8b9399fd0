package config

import (
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// mostWholeLevels is how many levels one profile may keep whole. A gang may name no more either.
const mostWholeLevels = 3

// WholeDomainsArgs are the arguments of WholeDomains, which kube-scheduler does not have.
type WholeDomainsArgs struct {
	// Levels are keys of labels of nodes, the uppermost level first, such as that of blocks and that of racks: nodes with
	// the same values are one domain. Pods go where pods are, so that domains without any stay whole for gangs. Required
	// when the plugin runs, up to three.
	Levels []string `json:"levels"`
}

// WholeDomainsArgs returns the profile's arguments of WholeDomains.
func (p *Profile) WholeDomainsArgs() *WholeDomainsArgs { return argsOf[WholeDomainsArgs](p) }

func (a *WholeDomainsArgs) setDefaults() {}

func (a *WholeDomainsArgs) validate(path *field.Path) field.ErrorList {
	path = path.Child("levels")
	switch {
	case len(a.Levels) == 0:
		return field.ErrorList{field.Required(path, "name the label of nodes that tells racks apart, such as example.com/rack")}
	case len(a.Levels) > mostWholeLevels:
		return field.ErrorList{field.TooMany(path, len(a.Levels), mostWholeLevels)}
	}
	return validateLabelKeys(path, a.Levels)
}

// validateLabelKeys checks keys of labels. Each may be named once.
func validateLabelKeys(path *field.Path, keys []string) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]bool{}
	for i, key := range keys {
		errs = append(errs, metav1validation.ValidateLabelName(key, path.Index(i))...)
		if seen[key] {
			errs = append(errs, field.Duplicate(path.Index(i), key))
		}
		seen[key] = true
	}
	return errs
}
