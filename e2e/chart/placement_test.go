package chart

import (
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/e2e/controlplane"
)

func TestHelmTestHasAPodAndAGangPlaced(t *testing.T) {
	c := newCluster(t, "job-controller")
	c.must(c.StartKWOK(t.Context()))
	c.helm(
		"install", release, chartDir, "--set=image.repository=example.com/muster",
		`--set=podAnnotations.`+strings.ReplaceAll(controlplane.RunsForAnnotation, ".", `\.`)+"=1s",
	)
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
