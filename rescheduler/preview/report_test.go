package preview

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"muster.dev/muster/api/config"
	"muster.dev/muster/rescheduler/planner"
)

// reportOn is the page about a dump.
func reportOn(t *testing.T, dump string) (string, error) {
	t.Helper()
	cfg := config.Default()
	cfg.Load.Source = config.LoadSourceNodeMetric
	var out bytes.Buffer
	err := Report(t.Context(), ReportOptions{Version: "v1.2.3", Options: Options{
		Config: cfg, Files: []string{"-"}, Stdin: strings.NewReader(dump), Logger: slog.New(slog.DiscardHandler),
		Limits: planner.Limits{Hops: 3, Time: time.Minute},
		Clock:  clocktesting.NewFakePassiveClock(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)),
	}}, &out)
	return out.String(), err
}

// gang is a dump of a gang that has room, on the nodes of tight.
const gang = `
---
apiVersion: v1
kind: Pod
metadata: {name: a, uid: a, labels: {muster.dev/pod-group: crew}, annotations: {muster.dev/min-member: "2"}}
spec: {schedulerName: default-scheduler, containers: [{name: main, resources: {requests: {cpu: "1"}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: b, uid: b, labels: {muster.dev/pod-group: crew}, annotations: {muster.dev/min-member: "2"}}
spec: {schedulerName: default-scheduler, containers: [{name: main, resources: {requests: {cpu: "1"}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: huge, uid: huge}
spec: {schedulerName: default-scheduler, containers: [{name: main, resources: {requests: {cpu: "40"}}}]}
`

func TestAReportTellsWhoGetsAPlaceAndWhoDoesNot(t *testing.T) {
	page, err := reportOn(t, strings.Replace(tight, "metadata: {name: big}", "metadata: {name: big, uid: big}", 1)+gang)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"By muster v1.2.3", "<dt>pods pending</dt><dd>4</dd>", "of 4 would get a place", "<dt>gangs that would start</dt><dd>1</dd>",
		`<th scope="row">default/crew</th><td class="number">2</td>`, "<td>default/huge</td>", "no node could take the pod",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("it does not say %q:\n%s", want, page)
		}
	}
}

func TestWhatADumpHasIsTextInAReport(t *testing.T) {
	const script = `<script>alert(1)</script>`
	page, err := reportOn(t, strings.ReplaceAll(tight, "n1", `"`+script+`"`))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(page, "<script") || !strings.Contains(page, "&lt;script&gt;") {
		t.Errorf("a name of a node is no text:\n%s", page)
	}
}

func TestADumpWithoutNodesIsNoCluster(t *testing.T) {
	if page, err := reportOn(t, "kind: Nothing\n"); err == nil || !strings.Contains(err.Error(), "there are no nodes") || page != "" {
		t.Errorf("error %v, and a page of %d bytes", err, len(page))
	}
}
