package yunikorn_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/operators"
	"muster.dev/muster/gang/operators/operatorstest"
	"muster.dev/muster/gang/operators/yunikorn"
)

func TestPodsOfATaskGroupStartTogether(t *testing.T) {
	operatorstest.Expect(t, yunikorn.Kind(), "testdata/taskgroups.yaml", map[string]string{
		"gang-abcde": "gang-1: 4",
		"orphan":     "single: nobody says how large its task group task is (yunikorn.apache.org/task-groups)",
		"yk-driver":  "single: one pod is all that it has to start with",
		"yk-exec-1":  "spark-yk/spark-executor: 3",
	})
}

// Annotations are of any length, and are read while everybody waits.
func TestWhatAPodSaysIsBounded(t *testing.T) {
	set := operators.NewSet([]operators.Kind{yunikorn.Kind()}, []config.GangKind{config.GangKindYuniKorn})
	groups := func(n int) string {
		text := `{"name":"r","minMember":2}`
		for i := range n - 1 {
			text += fmt.Sprintf(`,{"name":"r%d","minMember":2}`, i)
		}
		return "[" + text + "]"
	}
	long := strings.Repeat("x", 64)
	for name, test := range map[string]struct {
		application, role, groups string
		gang, why                 string // a part of it
	}{
		"as it should be":           {"app", "r", groups(100), "app/r", "2 of its 2 pods of role r"},
		"too many groups":           {"app", "r", groups(101), "", "has 101 groups, more than 100"},
		"too long a text":           {"app", "r", groups(1) + strings.Repeat(" ", 1<<14), "", "cannot be read"},
		"too long an application":   {long, "r", groups(2), "", "too long for a label"},
		"too long a name of a role": {"app", long, groups(2), "", "too long for a label"},
	} {
		t.Run(name, func(t *testing.T) {
			got := set.Affiliate(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
				"yunikorn.apache.org/app-id": test.application, "yunikorn.apache.org/task-group-name": test.role,
				"yunikorn.apache.org/task-groups": test.groups,
			}}}, &cluster.Chain{})
			if got.Gang != test.gang || !strings.Contains(got.Why, test.why) || len(got.Why) > 200 {
				t.Errorf("it belongs to %+v", got)
			}
		})
	}
}
