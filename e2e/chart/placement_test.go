package chart

import (
	"cmp"
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/e2e/await"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/lab"
)

func TestHelmTestHasAPodAndAGangPlaced(t *testing.T) {
	lab.Long(t)
	helmTest(t, "", chartDir, "--set=image.repository=example.com/muster")
}

// helmTest installs a chart, runs its pod with a program, muster of this checkout when it is empty, and has Helm try whether it works.
func helmTest(t *testing.T, program, chart string, values ...string) {
	t.Helper()
	c := newCluster(t, "job-controller")
	c.Must(c.StartKWOK(t.Context()))
	runsFor := strings.ReplaceAll(controlplane.RunsForAnnotation, ".", `\.`)
	c.helm(append([]string{"install", release, chart, "--set=podAnnotations." + runsFor + "=1s"}, values...)...)
	k := newKubelet(c)
	k.muster = cmp.Or(program, k.muster)
	k.runs("muster")
	c.createNode("a", "", "4")
	out := c.helm("test", release, "--timeout", await.Patience.String())
	if got := strings.Count(out, "Phase:          Succeeded"); got != 2 {
		t.Errorf("%d of 2 tests succeeded:\n%s", got, out)
	}
	jobs, err := c.Client.BatchV1().Jobs(namespace).List(t.Context(), metav1.ListOptions{})
	c.Must(err)
	if len(jobs.Items) > 0 {
		t.Errorf("%d jobs are left", len(jobs.Items))
	}
	metrics, err := get(k.url("http", portHealth, "/metrics"))
	c.Must(err)
	if !regexp.MustCompile(`(?m)^muster_gang_hold_seconds_count [1-9]`).MatchString(metrics) {
		t.Error("muster has held no binding of the gang")
	}
}
