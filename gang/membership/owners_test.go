package membership

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
)

func TestPeopleLookAtTheOwnerThatMakesPodsAGang(t *testing.T) {
	ref := func(kind, name string) metav1.OwnerReference {
		return metav1.OwnerReference{
			APIVersion: "example.com/v1", Kind: kind, Name: name, UID: types.UID(kind + "/" + name), Controller: new(kind != "Config"),
		}
	}
	pod := func(of *metav1.OwnerReference, label string, refs ...metav1.OwnerReference) *cluster.Pod {
		p := cluster.NewPod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", OwnerReferences: refs}})
		if label != "" {
			p.Labels = map[string]string{v1alpha1.LabelMuster: label}
		}
		p.Affiliation.Owner = of
		return p
	}
	set := ref("JobSet", "train")
	var many []*cluster.Pod
	for i := range 12 {
		many = append(many, pod(nil, "g", ref("Job", fmt.Sprintf("j-%02d", 11-i))))
	}
	for _, test := range []struct {
		name    string
		members []*cluster.Pod
		want    []string
	}{
		{"nobody owns them", []*cluster.Pod{pod(nil, "g"), pod(nil, "g", ref("Config", "c"))}, nil},
		{"an owner of their owners", []*cluster.Pod{pod(&set, "", ref("Job", "a")), pod(&set, "", ref("Job", "b"))}, []string{"JobSet n/train"}},
		{
			"their own marks count",
			[]*cluster.Pod{pod(&set, "g", ref("Job", "b")), pod(&set, "g", ref("Job", "a"))},
			[]string{"Job n/a", "Job n/b"},
		},
		{"there are many", many, []string{
			"Job n/j-00", "Job n/j-01", "Job n/j-02", "Job n/j-03", "Job n/j-04",
			"Job n/j-05", "Job n/j-06", "Job n/j-07", "Job n/j-08", "Job n/j-09",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, owner := range Owners(slices.Values(test.members)) {
				got = append(got, owner.Kind+" "+owner.Namespace+"/"+owner.Name)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("owners (-want +got):\n%s", diff)
			}
		})
	}
}

func TestATopologyCountsThatAllRolesOfAnOwnerAskFor(t *testing.T) {
	asks := func(name, key string) *cluster.Pod {
		p := cluster.NewPod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name, Annotations: map[string]string{}}})
		if key != "" {
			p.Annotations[v1alpha1.AnnotationKueueRequiredTopology] = key
		}
		p.Affiliation = cluster.Affiliation{Gang: "train", MinMember: 2}
		return p
	}
	of := func(p *cluster.Pod, key string) *cluster.Pod {
		p.Affiliation.Network = map[string]string{v1alpha1.AnnotationKAITopology: "n", v1alpha1.AnnotationKAIRequiredTopology: key}
		return p
	}
	more := func(p *cluster.Pod) *cluster.Pod {
		p.Annotations[v1alpha1.AnnotationKueueSliceTopology], p.Annotations[v1alpha1.AnnotationKueueSliceSize] = "host", "2"
		return p
	}
	for name, test := range map[string]struct {
		members []*cluster.Pod
		want    []string
		wrong   bool
	}{
		"what all ask for, and one more than that": {[]*cluster.Pod{asks("a", "rack"), more(asks("b", "rack"))}, []string{"rack"}, false},
		"the owner":                   {[]*cluster.Pod{of(asks("a", ""), "zone"), of(asks("b", ""), "zone")}, []string{"zone"}, false},
		"the owner, and one pod more": {[]*cluster.Pod{of(more(asks("a", "")), "zone"), of(asks("b", ""), "zone")}, []string{"zone"}, false},
		"all the same":                {[]*cluster.Pod{asks("a", "rack"), asks("b", "rack")}, []string{"rack"}, false},
		"another level":               {[]*cluster.Pod{asks("a", "rack"), asks("b", "block")}, nil, false},
		"one for none":                {[]*cluster.Pod{asks("a", "rack"), asks("b", "")}, nil, false},
		"none, and one more":          {[]*cluster.Pod{asks("a", ""), asks("b", "rack")}, nil, false},
		"Kueue has placed each":       {[]*cluster.Pod{placedBy("v"), placedBy("w")}, nil, false},
		"no key":                      {[]*cluster.Pod{asks("a", "no key"), asks("b", "no key")}, nil, true},
	} {
		spec := Bounds{MaxMembers: 10}.Said(slices.Values(test.members))
		if diff := cmp.Diff(test.want, spec.Policy.Topology.Levels); diff != "" || (spec.Err != nil) != test.wrong {
			t.Errorf("%s: levels (-want +got):\n%s\nerror: %v", name, diff, spec.Err)
		}
	}
}

// placedBy is a member that Kueue has placed for a workload.
func placedBy(workload string) *cluster.Pod {
	p := cluster.NewPod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: workload, Annotations: map[string]string{
		v1alpha1.AnnotationKueueRequiredTopology: "rack", v1alpha1.AnnotationKueueWorkload: workload,
	}}})
	p.Affiliation = cluster.Affiliation{Kind: "JobSet", Gang: "train", MinMember: 2}
	return p
}

func TestWhoseGangAsksForATopology(t *testing.T) {
	placed := map[string]string{v1alpha1.AnnotationKueueRequiredTopology: "rack", v1alpha1.AnnotationKueueWorkload: "w"}
	for name, test := range map[string]struct {
		annotations, owner map[string]string
		want               bool
	}{
		"nothing is said":        {nil, nil, false},
		"the pod asks":           {map[string]string{v1alpha1.AnnotationRequiredTopology: "rack"}, nil, true},
		"the pod asks nonsense":  {map[string]string{v1alpha1.AnnotationRequiredTopology: "no key"}, nil, true},
		"its owner asks":         {nil, map[string]string{v1alpha1.AnnotationRequiredTopology: "rack"}, true},
		"Kueue has placed it":    {placed, nil, false},
		"a Topology and nothing": {nil, map[string]string{v1alpha1.AnnotationKAITopology: "n"}, false},
	} {
		p := cluster.NewPod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "p", Annotations: test.annotations}})
		p.Affiliation = cluster.Affiliation{Kind: "JobSet", Gang: "train", MinMember: 2, Network: test.owner}
		if got := AsksTopology(p, &cluster.Snapshot{}); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// Nobody can ask for less than another member does.
func TestRoomIsBookedForMembersByAnOwnerOnceTheyHaveWaitedForTheLongestTime(t *testing.T) {
	for name, test := range map[string]struct {
		says []string
		want time.Duration
		err  string
	}{
		"nobody says anything": {says: []string{"", ""}},
		"the longest":          {says: []string{"10m", "30m", ""}, want: 30 * time.Minute},
		"never":                {says: []string{"10m", "0"}, want: v1alpha1.ReserveNever},
		"nonsense":             {says: []string{"10m", "soon"}, err: `p-1: metadata.annotations[muster.dev/reserve-after]: Invalid value`},
	} {
		t.Run(name, func(t *testing.T) {
			var pods []*cluster.Pod
			for i, text := range test.says {
				p := cluster.NewPod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: fmt.Sprint("p-", i)}})
				if text != "" {
					p.Annotations = map[string]string{v1alpha1.AnnotationReserveAfter: text}
				}
				p.Affiliation = cluster.Affiliation{Gang: "train", MinMember: 2}
				pods = append(pods, p)
				if ignored := Ignored(p); len(ignored) > 0 {
					t.Errorf("ignored: %q", ignored)
				}
			}
			got := Bounds{MaxMembers: 10}.Said(slices.Values(pods))
			if got.Policy.ReserveAfter != test.want || (got.Err == nil) != (test.err == "") ||
				got.Err != nil && !strings.HasPrefix(got.Err.Error(), test.err) {
				t.Errorf("they wait for %s, error %v; want %s and %q", got.Policy.ReserveAfter, got.Err, test.want, test.err)
			}
		})
	}
}
