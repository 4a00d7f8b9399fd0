package chart

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/process"
)

func TestOfTwoPodsWithAKubeSchedulerEachOneLeadsWithItsMusterAndBothAreReady(t *testing.T) {
	lab.Long(t)
	if err := process.Hosts(); err != nil {
		t.Skipf("the pods cannot be on hosts of other names: %v", err)
	}
	c := newCluster(t)
	c.Must(c.StartKWOK(t.Context()))
	c.install("--values", way("sidecar"), "--set=replicas=2")
	var kubelets []*kubelet
	for i := range 2 {
		k := newKubelet(c)
		k.host = fmt.Sprintf("muster-%d", i)
		k.runs("muster") // each is ready before its kube-scheduler runs
		kubelets = append(kubelets, k)
	}
	c.Eventually("muster leads where kube-scheduler does", func() error {
		scheduler, muster := c.hostThatLeads("muster-kube-scheduler"), c.hostThatLeads("muster")
		if scheduler == "" || scheduler != muster {
			return fmt.Errorf("kube-scheduler leads on host %q, muster on %q", scheduler, muster)
		}
		return nil
	})
	for _, k := range kubelets {
		if _, err := get(k.url("http", portHealth, "/readyz")); err != nil {
			t.Errorf("on %s: %v", k.host, err)
		}
	}
	c.createNode("a", "pairs", "4")
	c.Create(newPod("p", "pairs", "1"))
	c.awaitBound("p")
}

// hostThatLeads is the host of the holder of a Lease, "" when there is none.
func (c *cluster) hostThatLeads(lease string) string {
	found, err := c.Client.CoordinationV1().Leases(namespace).Get(c.Context(), lease, metav1.GetOptions{})
	if err != nil || found.Spec.HolderIdentity == nil {
		return ""
	}
	host, _, _ := strings.Cut(*found.Spec.HolderIdentity, "_")
	return host
}
