package v1alpha1

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"muster.dev/muster/api/fields"
)

// maxShares is how many shares one group may have.
const maxShares = 64

// shares reads "SIZE,SIZE,…@KEY".
func (t *Topology) shares(errs *field.ErrorList, annotations map[string]string) {
	text, said := annotations[AnnotationTopologyShares]
	if !said {
		return
	}
	path := annotation(AnnotationTopologyShares)
	sizes, key, _ := strings.Cut(text, "@")
	all := strings.SplitN(sizes, ",", maxShares+1)
	if len(all) > maxShares {
		*errs = append(*errs, field.TooMany(path, len(all), maxShares))
		return
	}
	for _, one := range all {
		size, err := strconv.ParseInt(one, 10, 32)
		if err != nil || size < 1 {
			*errs = append(*errs, field.Invalid(path, fields.Brief(text),
				"must be as 8,16,16@KEY: how many pods have nodes with the same label, for each of as many labels"))
			return
		}
		t.Shares = append(t.Shares, int(size))
	}
	t.SharesLevel = t.level(errs, path, key)
}

// checkShares says what is wrong with the shares of a group that starts with minMember pods.
func (t *Topology) checkShares(minMember int) error {
	if len(t.Shares) == 0 {
		return nil
	}
	sum := 0
	for _, size := range t.Shares {
		sum += size
	}
	var why error
	switch {
	case sum != minMember:
		why = fmt.Errorf("shares of %d pods in all are not %d", sum, minMember)
	case t.SharesLevel <= t.Required:
		why = errors.New("shares are at no level below the one that has all pods")
	default:
		return nil
	}
	return fmt.Errorf("%s: %w", annotation(AnnotationTopologyShares), why)
}
