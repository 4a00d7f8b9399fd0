package pairs

import (
	"testing"

	"k8s.io/client-go/kubernetes"

	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/process"
)

func TestAPairLeadsTogetherWhateverDies(t *testing.T) {
	if testing.Short() {
		t.Skip("kills pairs on a real control plane: make test-long runs this")
	}
	if err := process.Hosts(); err != nil {
		t.Skipf("the pairs cannot be on hosts of other names: %v", err)
	}
	ctx := t.Context()
	cp := controlplane.ForTest(t, controlplane.Options{})
	client, err := kubernetes.NewForConfig(cp.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := NewCluster(ctx, client)
	if err != nil {
		t.Fatal(err)
	}
	pairs, err := Start(ctx, cp, Options{Count: 2, Progress: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	defer pairs.Stop()
	if err := cluster.Bind(ctx); err != nil {
		t.Fatal(err)
	}
	for _, event := range Events() {
		leader, err := pairs.Leader(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := pairs.Meet(ctx, leader, event, cluster.BindMany); err != nil {
			t.Fatalf("%s: %v", event, err)
		}
		now, err := pairs.Leader(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if (event == HostIsLost || event == PodIsReplaced) && now == leader {
			t.Errorf("%s: pair %d still leads", event, now)
		}
		for range 10 { // so that the one that leads nominates
			if err := cluster.Bind(ctx); err != nil {
				t.Fatalf("after %s: %v", event, err)
			}
		}
	}
	if got := pairs.Planned(); got == 0 {
		t.Error("the musters that led planned nothing: what bystanders do would not be seen")
	}
	if got := pairs.Bystanders(); got > 0 {
		t.Errorf("musters planned nominations for %d pods beside kube-schedulers that did not lead", got)
	}
	if lost, err := cluster.Lost(ctx); err != nil || lost > 0 {
		t.Errorf("%d pods are lost, error %v", lost, err)
	}
}
