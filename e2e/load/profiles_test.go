package load

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/muster"
)

func TestHowBusyANodeMayBeIsAMatterOfTheProfile(t *testing.T) {
	text, err := os.ReadFile("../../docs/examples/profiles.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var example map[string]any
	if err := yaml.Unmarshal(text, &example); err != nil {
		t.Fatal(err)
	}
	l := newLab(t)
	l.createNode("busy", nil)
	server, err := muster.Start(t.Context(), muster.Options{ControlPlane: l.ControlPlane, Config: example, Progress: t.Output()})
	l.must(err)
	t.Cleanup(server.Stop)
	// 70 % of 4 cores: too much for spread, which takes 60 %, and not for pack, which takes 85 %.
	l.report("busy", "2800m", time.Now())
	const tooBusy = "node(s) cpu usage exceed threshold"
	l.eventually("muster knows how busy the node is", func() error {
		verdicts, err := l.verdicts(server, "spread", "busy")
		if err == nil && verdicts["busy"] != tooBusy {
			err = fmt.Errorf("verdict %q", verdicts["busy"])
		}
		return err
	})
	config, err := server.SchedulerConfig(t.Context())
	l.must(err)
	l.must(l.StartScheduler(t.Context(), controlplane.SchedulerOptions{Config: config}))

	pods := l.client.CoreV1().Pods("default")
	for _, profile := range []string{"spread", "pack"} {
		_, err := pods.Create(t.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: profile},
			Spec: corev1.PodSpec{SchedulerName: profile, Containers: []corev1.Container{{
				Name: "main", Image: "example.com/main",
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("100m")}},
			}}},
		}, metav1.CreateOptions{})
		l.must(err)
	}
	l.eventually("pack is bound and spread is told why not", func() error {
		pack, err := pods.Get(t.Context(), "pack", metav1.GetOptions{})
		if err != nil {
			return err
		}
		spread, err := pods.Get(t.Context(), "spread", metav1.GetOptions{})
		if err != nil {
			return err
		}
		told := slices.ContainsFunc(spread.Status.Conditions, func(c corev1.PodCondition) bool { return strings.Contains(c.Message, tooBusy) })
		if pack.Spec.NodeName != "busy" || spread.Spec.NodeName != "" || !told {
			return fmt.Errorf(
				"pack is on %q: %v; spread is on %q: %v", pack.Spec.NodeName, pack.Status.Conditions, spread.Spec.NodeName, spread.Status.Conditions,
			)
		}
		return nil
	})
}
