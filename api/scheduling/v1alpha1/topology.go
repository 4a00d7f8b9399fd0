package v1alpha1

import (
	"fmt"
	"iter"
	"maps"
	"slices"
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
	// Name is of an object that lists all levels, "" for any object that lists the ones below.
	Name string
	// Levels are the keys, the uppermost first, without [corev1.LabelHostname]: nodes are the level below the last one.
	Levels []string
	// Above has keys for each level, or is nil: the values of these tell its domains apart as well, and are no level of their own.
	Above [][]string
	// Nodes says that as few nodes as possible are asked for.
	Nodes bool
	// Required is the level of the one domain that has all pods, counted from 1; 0 for none.
	Required int
	// Preferred is the level of the one domain that has all pods if there is one with room, 0 for none. WaitFor is how long the group
	// waits for that before it takes more domains.
	Preferred int
	WaitFor   time.Duration
	// Balanced is the level whose domains share the pods as evenly as possible; 0 for none.
	Balanced int
	// Shares are how many pods each of several domains of SharesLevel has: all pods together. None are asked for where there are none.
	Shares      []int
	SharesLevel int
	// Slices divide the pods, or each share, and each the one before it.
	Slices []TopologySlice
}

// TopologySlice is a number of pods that one domain of a level has.
type TopologySlice struct{ Size, Level int }

// Asks reports whether anything is asked for.
func (t *Topology) Asks() bool {
	return t.Required > 0 || t.Preferred > 0 || t.Balanced > 0 || t.Nodes || len(t.Shares) > 0 || len(t.Levels)+len(t.Slices) > 0
}

// Binds reports whether pods may go nowhere but as they ask: more than a preference is asked for.
func (t *Topology) Binds() bool { return t.Required > 0 || t.Divides() }

// Divides reports whether pods are divided over domains, beyond being in one of them.
func (t *Topology) Divides() bool { return t.Balanced > 0 || len(t.Slices)+len(t.Shares) > 0 }

// Check says what is wrong with it for a group that starts with minMember pods.
func (t *Topology) Check(minMember int) error {
	if err := t.checkShares(minMember); err != nil {
		return err
	}
	of, above := []int{minMember}, t.Required
	if len(t.Shares) > 0 {
		of, above = t.Shares, t.SharesLevel
	}
	for _, s := range t.Slices {
		var why string
		undivided := slices.IndexFunc(of, func(pods int) bool { return pods%s.Size != 0 })
		switch {
		case undivided >= 0:
			why = fmt.Sprintf("slices of %d do not divide %d pods", s.Size, of[undivided])
		case s.Level < above:
			why = fmt.Sprintf("slices of %d pods are at a level above the one that has them all", s.Size)
		default:
			of, above = []int{s.Size}, s.Level
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

// topology reads the annotations about the network: muster's, or else Kueue's or KAI's.
func topology(errs *field.ErrorList, annotations map[string]string) (t Topology) {
	annotations = said(annotations)
	if t.Name = annotations[AnnotationKAITopology]; t.Name != "" && len(validation.IsDNS1123Subdomain(t.Name)) > 0 {
		*errs = append(*errs, field.Invalid(annotation(AnnotationKAITopology), fields.Brief(t.Name), "must be the name of a Topology"))
		return Topology{}
	}
	required, requires := level(errs, &t, annotations,
		saidBy(annotations, AnnotationRequiredTopology, AnnotationKueueRequiredTopology, AnnotationKAIRequiredTopology))
	preferredBy := saidBy(annotations, AnnotationPreferredTopology, AnnotationKueuePreferredTopology, AnnotationKAIPreferredTopology)
	preferred, prefers := level(errs, &t, annotations, preferredBy)
	segments, segmented := level(errs, &t, annotations, AnnotationKAISegmentPreferred)
	t.Nodes = prefers && preferred == hostname || segmented && segments == hostname
	if requires {
		t.Required = required
	}
	if prefers {
		t.Preferred, t.WaitFor = preferred, waitFor(errs, annotations, preferredBy)
	}
	t.shares(errs, annotations)
	t.slices(errs, annotations)
	if balanced, is := level(errs, &t, annotations, AnnotationBalancedTopology); is {
		t.Balanced = balanced
	}
	if len(t.Levels) > maxLevels {
		*errs = append(*errs, field.TooMany(annotation(AnnotationRequiredTopology), len(t.Levels), maxLevels))
		return Topology{}
	}
	nodes := len(t.Levels) + 1
	for _, of := range []*int{&t.Required, &t.Preferred, &t.SharesLevel, &t.Balanced} {
		if *of == hostname {
			*of = nodes
		}
	}
	for i := range t.Slices {
		if t.Slices[i].Level == hostname {
			t.Slices[i].Level = nodes
		}
	}
	if !t.Asks() {
		return Topology{}
	}
	return t
}

// DefaultTopologyWait is how long a group waits for a domain that it prefers: as long as Slurm does (max_switch_wait).
const DefaultTopologyWait = 5 * time.Minute

// waitFor reads how long a group waits for the domain that it prefers by an annotation. By Kueue's and KAI's it does not, as there,
// unless it says so.
func waitFor(errs *field.ErrorList, annotations map[string]string, preferredBy string) time.Duration {
	if _, said := annotations[AnnotationTopologyWaitFor]; !said && preferredBy == AnnotationPreferredTopology {
		return DefaultTopologyWait
	}
	return duration(errs, annotations, AnnotationTopologyWaitFor)
}

// AsksForTopology reports whether annotations ask that pods are near each other, in whatever words.
func AsksForTopology(annotations map[string]string) bool {
	t := topology(&field.ErrorList{}, annotations)
	return t.Asks()
}

// said returns the annotations about the network that count. KAI's mean nothing to KAI where no Topology is named.
func said(annotations map[string]string) map[string]string {
	said := maps.Collect(TopologyOf(annotations))
	if said[AnnotationKAITopology] == "" {
		maps.DeleteFunc(said, func(name, _ string) bool { return strings.HasPrefix(name, "kai.scheduler/") })
	}
	return said
}

// TopologyOf yields the annotations about the network: all that [DecodePolicy] reads a Topology of. Kueue's are left out where Kueue
// has obeyed them itself.
func TopologyOf(annotations map[string]string) iter.Seq2[string, string] {
	_, pinned := annotations[AnnotationKueueWorkload]
	return func(yield func(name, value string) bool) {
		for _, name := range []string{
			AnnotationRequiredTopology, AnnotationPreferredTopology, AnnotationTopologyWaitFor, AnnotationTopologySlices,
			AnnotationTopologyShares, AnnotationBalancedTopology,
			AnnotationKueueRequiredTopology, AnnotationKueuePreferredTopology, AnnotationKueueSliceTopology, AnnotationKueueSliceSize,
			AnnotationKueueSlices,
			AnnotationKAITopology, AnnotationKAIRequiredTopology, AnnotationKAIPreferredTopology, AnnotationKAISegmentSize,
			AnnotationKAISegmentTopology, AnnotationKAISegmentPreferred,
		} {
			value, is := annotations[name]
			if !is || pinned && strings.HasPrefix(name, kueuePodSet) {
				continue
			}
			if !yield(name, value) {
				return
			}
		}
	}
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
