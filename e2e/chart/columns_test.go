package chart

import (
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	explanationv1alpha1 "muster.dev/muster/api/explanation/v1alpha1"
	reschedulingv1alpha1 "muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/api/scheduling/v1alpha1"
	slov1alpha1 "muster.dev/muster/api/slo/v1alpha1"
	"muster.dev/muster/e2e/muster"
)

// columnsRow is a line of the README's table of what kubectl get shows.
var columnsRow = regexp.MustCompile("(?m)^\\| (`[a-z].*`) \\| (NAME [A-Z ]+) \\|$")

func TestKubectlGetShowsWhatTheReadmeSays(t *testing.T) {
	c := newCluster(t)
	c.Must(muster.CreateCRDs(t.Context(), c.Dynamic))
	c.createCustomResources()
	c.createQuestion()
	counts := map[string]any{
		"phase": "Running", "scheduled": int64(3), "running": int64(2), "succeeded": int64(1), "failed": int64(0),
		"conditions": []any{map[string]any{
			"type": "Scheduled", "status": "True", "reason": "Scheduled", "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z",
		}},
	}
	for _, group := range []string{v1alpha1.GroupX, v1alpha1.GroupSigs} {
		c.writeStatus(v1alpha1.ResourceOf(group), "default", "g", counts)
	}
	c.writeStatus(slov1alpha1.NodeMetrics(), "", "a", map[string]any{
		"updateTime": metav1.Now().UTC().Format("2006-01-02T15:04:05Z"),
		"nodeMetric": map[string]any{"nodeUsage": map[string]any{"resources": map[string]any{"cpu": "1500m", "memory": "2Gi"}}},
	})
	c.writeStatus(reschedulingv1alpha1.ReschedulingPlans(), "", "p", map[string]any{"phase": "Pending", "moved": "0/1", "message": "waits"})
	c.writeStatus(explanationv1alpha1.Questions(), "default", "why", map[string]any{"outcome": "Waits", "summary": "waits"})

	rows := columnsRow.FindAllStringSubmatch(textOf(t, chartDir, "README.md"), -1)
	told := map[string]bool{}
	for _, row := range rows {
		for name := range strings.SplitSeq(row[1], ", ") {
			name = strings.Trim(name, "`")
			told[name] = true
			out, err := said(t.Context(), c.kubectl(), "--kubeconfig="+c.Kubeconfig(), "get", name)
			c.Must(err)
			lines := strings.Split(strings.TrimSpace(out), "\n")
			if got := strings.Join(strings.Fields(lines[0]), " "); got != row[2] {
				t.Errorf("kubectl get %s shows %q, want %q", name, got, row[2])
			}
			if len(lines) != 2 || len(strings.Fields(lines[1])) != len(strings.Fields(row[2])) || strings.Contains(lines[1], "<") {
				t.Errorf("kubectl get %s does not fill its columns:\n%s", name, out)
			}
		}
	}
	definitions, err := c.Dynamic.Resource(customResourceDefinitions()).List(t.Context(), metav1.ListOptions{})
	c.Must(err)
	for _, definition := range definitions.Items {
		names := definition.Object["spec"].(map[string]any)["names"].(map[string]any)
		shorts, _ := names["shortNames"].([]any)
		for _, name := range append(shorts, names["plural"]) {
			if !told[name.(string)] {
				t.Errorf("the README does not say what kubectl get %s shows", name)
			}
		}
	}
}

// writeStatus gives an object a status.
func (c *cluster) writeStatus(resource schema.GroupVersionResource, namespace, name string, status map[string]any) {
	c.Helper()
	client := c.Dynamic.Resource(resource).Namespace(namespace)
	object, err := client.Get(c.Context(), name, metav1.GetOptions{})
	c.Must(err)
	object.Object["status"] = status
	_, err = client.UpdateStatus(c.Context(), object, metav1.UpdateOptions{})
	c.Must(err)
}
