package v1alpha1

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"muster.dev/muster/api/fields"
)

// Topology says how near to each other the pods of a group have to be. A level is a key of labels of nodes: nodes with the same
// value are one domain, within one domain of the level above. The zero value asks for nothing.
type Topology struct {
	// Levels are the keys, the uppermost first, without [corev1.LabelHostname]: nodes are the level below the last one.
	Levels []string
	// Required is the level of the one domain that has all pods, counted from 1; 0 for none.
	Required int
	// Preferred is the level of the one domain that has all pods if there is one with room, 0 for none. WaitFor is how long the group
	// waits for that before it takes more domains.
	Preferred int
	WaitFor   time.Duration
	// Balanced is the level whose domains share the pods as evenly as possible; 0 for none.
	Balanced int
	// Slices divide the pods, each the one before it.
	Slices []TopologySlice
}

// TopologySlice is a number of pods that one domain of a level has.
type TopologySlice struct{ Size, Level int }

// Asks reports whether anything is asked for.
func (t *Topology) Asks() bool {
	return t.Required > 0 || t.Preferred > 0 || t.Balanced > 0 || len(t.Levels)+len(t.Slices) > 0
}

// Enforced returns the keys of labels that make the domain in which a single pod has to be: the lowest one that all pods share, or the
// ones of a slice do. It is empty where nothing is required. A node is no such domain.
func (t *Topology) Enforced() []string {
	level := t.Required
	for _, s := range t.Slices {
		level = max(level, s.Level)
	}
	return t.Levels[:min(level, len(t.Levels))]
}

// Check says what is wrong with it for a group that starts with minMember pods.
func (t *Topology) Check(minMember int) error {
	of, above := minMember, t.Required
	for _, s := range t.Slices {
		var why string
		switch {
		case of%s.Size != 0:
			why = fmt.Sprintf("slices of %d do not divide %d pods", s.Size, of)
		case s.Level < above:
			why = fmt.Sprintf("slices of %d pods are at a level above the one that has them all", s.Size)
		default:
			of, above = s.Size, s.Level
			continue
		}
		return fmt.Errorf("%s: %s", annotation(AnnotationTopologySlices), why)
	}
	return nil
}

const (
	// maxLevels is how many keys one group may name besides that of nodes.
	maxLevels = 3
	// maxSlices is how many slices may lie in one another, as in Kueue.
	maxSlices = 3
)

// topology reads the annotations about the network, muster's or else Kueue's, unless Kueue has obeyed these.
func topology(errs *field.ErrorList, annotations map[string]string) (t Topology) {
	if _, pinned := annotations[AnnotationKueueWorkload]; pinned {
		annotations = maps.Clone(annotations)
		maps.DeleteFunc(annotations, func(name, _ string) bool { return strings.HasPrefix(name, "kueue.x-k8s.io/podset-") })
	}
	required, requires := level(errs, &t, annotations, saidBy(annotations, AnnotationRequiredTopology, AnnotationKueueRequiredTopology))
	preferredBy := saidBy(annotations, AnnotationPreferredTopology, AnnotationKueuePreferredTopology)
	preferred, prefers := level(errs, &t, annotations, preferredBy)
	if requires {
		t.Required = required
	}
	if prefers {
		t.Preferred, t.WaitFor = preferred, waitFor(errs, annotations, preferredBy)
	}
	t.slices(errs, annotations)
	if balanced, is := level(errs, &t, annotations, AnnotationBalancedTopology); is {
		t.Balanced = balanced
	}
	if len(t.Levels) > maxLevels {
		*errs = append(*errs, field.TooMany(annotation(AnnotationRequiredTopology), len(t.Levels), maxLevels))
		return Topology{}
	}
	nodes := len(t.Levels) + 1
	for _, of := range []*int{&t.Required, &t.Preferred, &t.Balanced} {
		if *of == hostname {
			*of = nodes
		}
	}
	for i := range t.Slices {
		if t.Slices[i].Level == hostname {
			t.Slices[i].Level = nodes
		}
	}
	return t
}

// DefaultTopologyWait is how long a group waits for a domain that it prefers: as long as Slurm does (max_switch_wait).
const DefaultTopologyWait = 5 * time.Minute

// waitFor reads how long a group waits for the domain that it prefers by an annotation. By Kueue's it does not, as in Kueue, unless it
// says so.
func waitFor(errs *field.ErrorList, annotations map[string]string, preferredBy string) time.Duration {
	text, said := annotations[AnnotationTopologyWaitFor]
	switch {
	case said:
	case preferredBy == AnnotationPreferredTopology:
		return DefaultTopologyWait
	default:
		return 0
	}
	wait, err := time.ParseDuration(text)
	if err != nil || wait < 0 {
		*errs = append(*errs, field.Invalid(annotation(AnnotationTopologyWaitFor), fields.Brief(text), `must be a duration such as "5m", or "0s"`))
	}
	return wait
}

// topologyAnnotations are all that [DecodePolicy] reads a Topology of.
func topologyAnnotations() []string {
	return []string{
		AnnotationRequiredTopology, AnnotationPreferredTopology, AnnotationTopologyWaitFor, AnnotationTopologySlices,
		AnnotationBalancedTopology, AnnotationKueueRequiredTopology, AnnotationKueuePreferredTopology, AnnotationKueueSliceTopology, AnnotationKueueSliceSize,
	}
}

// AsksTopology reports whether annotations say something about the network.
func AsksTopology(annotations map[string]string) bool { return !SameTopology(annotations, nil) }

// SameTopology reports whether annotations of two pods say the same about the network.
func SameTopology(a, b map[string]string) bool {
	return !slices.ContainsFunc(topologyAnnotations(), func(name string) bool { return a[name] != b[name] })
}

// hostname stands for the level of nodes while the number of the others is not known.
const hostname = -1

// level reads an annotation whose value is a key, and returns its level.
func level(errs *field.ErrorList, t *Topology, annotations map[string]string, name string) (level int, said bool) {
	key, said := annotations[name]
	if !said {
		return 0, false
	}
	return t.level(errs, annotation(name), key), true
}

// level returns the level of a key. It is the lowest one if it was not named before.
func (t *Topology) level(errs *field.ErrorList, path *field.Path, key string) int {
	if key == corev1.LabelHostname {
		return hostname
	}
	if len(validation.IsQualifiedName(key)) > 0 {
		*errs = append(*errs, field.Invalid(path, fields.Brief(key), "must be the key of a label of nodes, such as topology.kubernetes.io/zone"))
		return 0
	}
	if at := slices.Index(t.Levels, key); at >= 0 {
		return at + 1
	}
	t.Levels = append(t.Levels, key)
	return len(t.Levels)
}

// slices reads "SIZE@KEY", several with commas between them, or Kueue's two annotations.
func (t *Topology) slices(errs *field.ErrorList, annotations map[string]string) {
	text, said := annotations[AnnotationTopologySlices]
	path := annotation(AnnotationTopologySlices)
	if !said {
		key, has := annotations[AnnotationKueueSliceTopology]
		if !has {
			return
		}
		path = annotation(AnnotationKueueSliceTopology)
		text = annotations[AnnotationKueueSliceSize] + "@" + key
	}
	all := strings.SplitN(text, ",", maxSlices+1)
	if len(all) > maxSlices {
		*errs = append(*errs, field.TooMany(path, len(all), maxSlices))
		return
	}
	for _, one := range all {
		number, key, _ := strings.Cut(one, "@")
		size, err := strconv.ParseInt(number, 10, 32)
		if err != nil || size < 1 {
			*errs = append(*errs, field.Invalid(path, fields.Brief(one), "must be as 16@KEY: how many pods have nodes with the same label"))
			return
		}
		t.Slices = append(t.Slices, TopologySlice{Size: int(size), Level: t.level(errs, path, key)})
	}
}
