package config

import (
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"muster.dev/muster/api/config/strict"
)

// LoadAwareScheduling is Koordinator's name of [LoadAware].
const LoadAwareScheduling = "LoadAwareScheduling"

// ofKoordinator says whether arguments were written for Koordinator's plugin: under its name, or
// with the header of its arguments.
func (c *PluginConfig) ofKoordinator(args []byte) bool {
	if c.Name != LoadAware {
		return c.Name == LoadAwareScheduling
	}
	var header metav1.TypeMeta
	return json.Unmarshal(args, &header) == nil && header.Kind == "LoadAwareSchedulingArgs" &&
		strings.HasPrefix(header.APIVersion, "kubescheduler.config.k8s.io/")
}

// ignoreUnknown takes the fields out of Koordinator's arguments that muster does not go by. Its
// other versions may have some that are not known here.
func (c *PluginConfig) ignoreUnknown(path *field.Path, args []byte) ([]byte, error) {
	known, unknown, err := strict.Prune(path, args, new(LoadAwareSchedulingArgs))
	for _, u := range unknown {
		why := "muster has no such argument"
		if u.Path.String() == path.Child("estimator").String() {
			if u.Value == nil || u.Value == "" || u.Value == koordinatorsEstimator {
				continue
			}
			why = "muster estimates as Koordinator's " + koordinatorsEstimator + " does"
		}
		c.Ignored = append(c.Ignored, fmt.Sprintf("%s: ignored: %s", u.Path, why))
	}
	return known, err
}

// koordinatorsEstimator is the way to estimate pods that Koordinator has by default, and muster
// as well.
const koordinatorsEstimator = "defaultEstimator"
