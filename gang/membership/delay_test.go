package membership

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
)

func TestAGroupLeavesOthersAloneForAsLongAsItSays(t *testing.T) {
	bounds := Bounds{Timeout: time.Minute, MaxTimeout: time.Hour, MaxMembers: 100}
	byOwner := cluster.Affiliation{Kind: "Job", Gang: "g"}
	byOwner.MinMember = 2
	marked := map[string]string{v1alpha1.LabelMuster: "g"}
	for name, test := range map[string]struct {
		says   []string // of each member, "" for nothing
		owned  bool
		want   time.Duration
		failed string
	}{
		"nothing is said":          {says: []string{"", ""}},
		"the first member says it": {says: []string{"2m", ""}, want: 2 * time.Minute},
		"of a group without an object the first member speaks": {says: []string{"", "2m"}},
		"one role of an owner says it":                         {says: []string{"", "2m"}, owned: true, want: 2 * time.Minute},
		"the longest counts":                                   {says: []string{"3m", "2m"}, owned: true, want: 3 * time.Minute},
		"nonsense": {
			says:   []string{"soon"},
			failed: `metadata.annotations[muster.dev/preempt-after]: Invalid value: "soon": must be a duration such as "5m", or "0s"`,
		},
		"nonsense of an owner": {
			says: []string{"", "-1s"}, owned: true,
			failed: `p-1: metadata.annotations[muster.dev/preempt-after]: Invalid value: "-1s": must be a duration such as "5m", or "0s"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var pods []*cluster.Pod
			for i, says := range test.says {
				pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: fmt.Sprint("p-", i), Annotations: map[string]string{}}}
				if says != "" {
					pod.Annotations[v1alpha1.AnnotationPreemptAfter] = says
				}
				of := &cluster.Pod{Pod: pod, Namespace: "n"}
				if test.owned {
					of.Affiliation = byOwner
				} else {
					pod.Labels, pod.Annotations[v1alpha1.AnnotationMinMember] = marked, "2"
				}
				pods = append(pods, of)
			}
			spec := bounds.Said(slices.Values(pods))
			failed := ""
			if spec.Err != nil {
				failed = spec.Err.Error()
			}
			if failed != test.failed || spec.Policy.PreemptAfter != test.want {
				t.Errorf("%s, error %q, want %s and %q", spec.Policy.PreemptAfter, failed, test.want, test.failed)
			}
		})
	}
}
