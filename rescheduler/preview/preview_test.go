package preview

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"muster.dev/muster/api/config/document"
	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/rescheduler/planner"
)

// tight is a dump in which the pod big has no room, unless small moves from n1 to n2.
const tight = `# YAML
---
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: "4", memory: 16Gi, pods: "110"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2}, status: {allocatable: {cpu: "3", memory: 16Gi, pods: "110"}}}
---
apiVersion: v1
kind: Pod
metadata: {name: big}
spec: {schedulerName: default-scheduler, containers: [{name: main, resources: {requests: {cpu: "4"}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: small, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: small, uid: small, controller: true}]}
spec: {nodeName: n1, schedulerName: default-scheduler, containers: [{name: main, resources: {requests: {cpu: "1"}}}]}
`

// plan returns the plan that Run makes of a dump, with a configuration, at noon.
func plan(t *testing.T, dump, configuration string, change ...func(*Options)) (Outcome, string) {
	t.Helper()
	c, _, err := document.Decode([]byte("apiVersion: config.muster.dev/v1alpha2\nkind: MusterConfiguration\n" + configuration))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	o := Options{
		Config: c, Files: []string{"-"}, Stdin: strings.NewReader(dump), Policy: v1alpha1.MakeRoom, Format: Table, Out: &out,
		Logger: slog.New(slog.DiscardHandler), Clock: clocktesting.NewFakePassiveClock(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)),
	}
	for _, f := range change {
		f(&o)
	}
	outcome, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return outcome, out.String()
}

func TestPlansForADumpGoByItsNodeMetrics(t *testing.T) {
	const loadAware = "profiles: [{plugins: {filter: {enabled: [{name: LoadAware}]}}}]\n"
	used := func(cpu string) string {
		return `---
apiVersion: slo.koordinator.sh/v1alpha1
kind: NodeMetric
metadata: {name: n2}
status: {updateTime: "2020-01-01T00:00:00Z", nodeMetric: {nodeUsage: {resources: {cpu: "` + cpu + `", memory: "1"}}}}
`
	}
	for name, test := range map[string]struct {
		dump, config string
		want         Outcome
	}{
		"without any, LoadAware has nothing against a node":       {tight, loadAware, Found},
		"one that leaves room for small":                          {tight + used("1"), loadAware, Found},
		"one that says that n2 is busy":                           {tight + used("2"), loadAware, NoPlan}, // 2 of 3 CPUs are 67 %
		"without LoadAware nobody minds":                          {tight + used("2"), "", Found},
		"one that leaves room, but not for 85 % of what it wants": {tight + used("1100m"), loadAware, NoPlan}, // 1,950m, and 65 % of 3 CPUs
	} {
		t.Run(name, func(t *testing.T) {
			if got, table := plan(t, test.dump, test.config); got != test.want {
				t.Errorf("the outcome is %v, want %v:\n%s", got, test.want, table)
			}
		})
	}
}

func TestPodsThatNoPlanMovesAreToldIfThatIsAskedFor(t *testing.T) {
	_, table := plan(t, tight, "")
	if strings.Contains(table, "NO PLAN MOVES") {
		t.Errorf("nobody asked for it:\n%s", table)
	}
	const bare = `---
apiVersion: v1
kind: Pod
metadata: {name: bare, namespace: default, uid: bare}
spec: {nodeName: n1, schedulerName: default-scheduler, containers: [{name: main}]}
`
	explain := func(o *Options) { o.ExplainExcluded = true }
	const row = "1                         it has no controller that would replace it   default/bare"
	if _, table = plan(t, tight+bare, "", explain); !strings.Contains(table, row) {
		t.Errorf("the table lacks %q:\n%s", row, table)
	}
	_, text := plan(t, tight+bare, "", explain, func(o *Options) { o.Format = JSON })
	var printed struct{ Excluded []map[string]string }
	if err := json.Unmarshal([]byte(text), &printed); err != nil {
		t.Fatal(err)
	}
	want := []map[string]string{{"pod": "default/bare", "node": "n1", "reason": planner.ReasonNoController}}
	if diff := cmp.Diff(want, printed.Excluded); diff != "" {
		t.Errorf("pods that are not moved (-want +got):\n%s", diff)
	}
}
