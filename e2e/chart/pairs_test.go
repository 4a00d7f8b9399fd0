package chart

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/e2e/process"
)

func TestOfTwoPodsWithAKubeSchedulerEachOneLeadsWithItsMusterAndBothAreReady(t *testing.T) {
	if err := process.Hosts(); err != nil {
		t.Skipf("the pods cannot be on hosts of other names: %v", err)
	}
	c := newCluster(t)
	c.must(c.StartKWOK(t.Context()))
	c.helm("install", release, chartDir, "--values", way("sidecar"), "--set=replicas=2")
	var kubelets []*kubelet
	for i := range 2 {
		k := newKubelet(c)
		k.host = fmt.Sprintf("muster-%d", i)
		pod := k.pod("muster")
		pod.start(pod.spec.InitContainers) // each is ready before its kube-scheduler runs
		pod.start(pod.spec.Containers)
		kubelets = append(kubelets, k)
	}
	c.eventually("muster leads where kube-scheduler does", func() error {
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
	s := &smoke{cluster: c}
	s.createNode("a", "pairs", "4")
	s.create(newPod("p", "pairs", "1"))
	s.awaitBound("p")
}

// hostThatLeads is the host of the holder of a Lease, "" when there is none.
func (c *cluster) hostThatLeads(lease string) string {
	found, err := c.client.CoordinationV1().Leases(namespace).Get(c.Context(), lease, metav1.GetOptions{})
	if err != nil || found.Spec.HolderIdentity == nil {
		return ""
	}
	host, _, _ := strings.Cut(*found.Spec.HolderIdentity, "_")
	return host
}
