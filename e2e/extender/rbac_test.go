package extender_test

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/template"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"

	"muster.dev/muster/api/scheduling/v1alpha1"
)

func TestTheChartGrantsWhatMusterNeeds(t *testing.T) {
	c := newCluster(t, newNode("a", "4"))
	c.grantChart()
	// What the API server makes of the service account's token.
	kubeconfig, err := shared.KubeconfigFor("system:serviceaccount:kube-system:muster", "system:serviceaccounts", "system:authenticated")
	if err != nil {
		t.Fatal(err)
	}
	s := c.serve(serving{kubeconfig: kubeconfig, config: "leaderElection: {leaderElect: true}\nnomination: {minBacklog: 1}\n" + nominating})
	c.createPods(newPods(3, "1")...)
	c.createPods(newPod("gated", "1", func(pod *corev1.Pod) {
		pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: v1alpha1.SchedulingGate}}
	}))
	c.eventually("a pod is nominated", func() error {
		if c.pod("pod-0000").Status.NominatedNodeName == "" {
			return errors.New("it is not")
		}
		return nil
	})
	c.schedule(s.schedulerConfig(nil))
	c.awaitBound(4)
	if err := s.bind(c.pod("pod-0000"), "a"); err != nil { // reads the pod, as it is bound already
		t.Errorf("a repeated binding failed: %v", err)
	}
	log, err := os.ReadFile(s.log)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(log)) {
		if lower := strings.ToLower(line); strings.Contains(lower, "forbidden") || strings.Contains(lower, "level=error") {
			t.Errorf("muster's log has: %s", line)
		}
	}
	for _, metric := range s.metrics("muster_watch_errors_total") {
		if got := metric.GetCounter().GetValue(); got > 0 {
			t.Errorf("%v errors of watching %v", got, labelsOf(metric))
		}
	}
}

// grantChart creates what the chart's rbac.yaml renders to, as release muster in
// kube-system. The functions that the file uses stand in for Helm's.
func (c *cluster) grantChart() {
	c.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "charts", "muster", "templates", "rbac.yaml"))
	if err != nil {
		c.Fatal(err)
	}
	helm := template.FuncMap{
		"include": func(name string, _ any) (string, error) {
			named := map[string]string{"muster.fullname": "muster", "muster.labels": ours + ": \"\""}
			if value, ok := named[name]; ok {
				return value, nil
			}
			return "", errors.New("the test does not know the template " + name)
		},
		"default": func(otherwise, value string) string { return cmp.Or(value, otherwise) },
		"nindent": func(spaces int, text string) string { return "\n" + strings.Repeat(" ", spaces) + text },
	}
	rbac, err := template.New("rbac.yaml").Funcs(helm).Option("missingkey=error").Parse(string(text))
	if err != nil {
		c.Fatal(err)
	}
	var rendered bytes.Buffer
	if err := rbac.Execute(&rendered, map[string]any{
		"Release": map[string]any{"Namespace": metav1.NamespaceSystem},
		"Values": map[string]any{
			"config": map[string]any{
				"load":        map[string]any{"nodeMetrics": map[string]any{"manage": true, "report": true}},
				"rescheduler": map[string]any{"mode": ""},
			},
			"rescheduler": map[string]any{"enabled": false},
		},
	}); err != nil {
		c.Fatal(err)
	}
	documents := utilyaml.NewYAMLReader(bufio.NewReader(&rendered))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			c.Fatal(err)
		}
		if err := c.grant(document); err != nil {
			c.Fatalf("%v:\n%s", err, document)
		}
	}
}

func (c *cluster) grant(document []byte) error {
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(document, nil, nil)
	if err != nil {
		return err
	}
	rbac, options := c.client.RbacV1(), metav1.CreateOptions{}
	switch o := object.(type) {
	case *rbacv1.ClusterRole:
		_, err = rbac.ClusterRoles().Create(c.Context(), o, options)
	case *rbacv1.ClusterRoleBinding:
		_, err = rbac.ClusterRoleBindings().Create(c.Context(), o, options)
	case *rbacv1.Role:
		_, err = rbac.Roles(o.Namespace).Create(c.Context(), o, options)
	case *rbacv1.RoleBinding:
		_, err = rbac.RoleBindings(o.Namespace).Create(c.Context(), o, options)
	default:
		err = errors.New("the test does not create objects of this kind")
	}
	return err
}
