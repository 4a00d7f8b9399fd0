package chart

import (
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/e2e/controlplane"
)

func TestHelmTestHasAPodAndAGangPlaced(t *testing.T) {
	helmTest(t, chartDir, "--set=image.repository=example.com/muster")
}

// helmTest installs a chart, runs its pod, and has Helm try whether it works.
func helmTest(t *testing.T, chart string, values ...string) {
	t.Helper()
	c := newCluster(t, "job-controller")
	c.must(c.StartKWOK(t.Context()))
	runsFor := strings.ReplaceAll(controlplane.RunsForAnnotation, ".", `\.`)
	c.helm(append([]string{"install", release, chart, "--set=podAnnotations." + runsFor + "=1s"}, values...)...)
	k := newKubelet(c)
	pod := k.pod("muster")
	pod.start(pod.spec.InitContainers)
	pod.start(pod.spec.Containers)
	(&smoke{cluster: c}).createNode("a", "", "4")
	out := c.helm("test", release, "--timeout", patience.String())
	if got := strings.Count(out, "Phase:          Succeeded"); got != 2 {
		t.Errorf("%d of 2 tests succeeded:\n%s", got, out)
	}
	jobs, err := c.client.BatchV1().Jobs(namespace).List(t.Context(), metav1.ListOptions{})
	c.must(err)
	if len(jobs.Items) > 0 {
		t.Errorf("%d jobs are left", len(jobs.Items))
	}
	metrics, err := get(k.url("http", portHealth, "/metrics"))
	c.must(err)
	if !regexp.MustCompile(`(?m)^muster_gang_hold_seconds_count [1-9]`).MatchString(metrics) {
		t.Error("muster has held no binding of the gang")
	}
}
