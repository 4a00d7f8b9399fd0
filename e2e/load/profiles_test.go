package load

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

func TestHowBusyANodeMayBeIsAMatterOfTheProfile(t *testing.T) {
	lab.Long(t)
	text, err := os.ReadFile("../../docs/examples/profiles.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var example map[string]any
	if err := yaml.Unmarshal(text, &example); err != nil {
		t.Fatal(err)
	}
	l := newCluster(t)
	l.Create(newNode("busy"))
	server := l.Muster(muster.Options{Config: example})
	// 70 % of 4 cores: too much for spread, which takes 60 %, and not for pack, which takes 85 %.
	l.report("busy", "2800m", time.Now())
	const tooBusy = "node(s) cpu usage exceed threshold"
	l.Eventually("muster knows how busy the node is", func() error {
		verdicts, err := server.Verdicts(t.Context(), asking("spread"), "busy")
		if err == nil && verdicts["busy"] != tooBusy {
			err = fmt.Errorf("verdict %q", verdicts["busy"])
		}
		return err
	})
	config, err := server.SchedulerConfig(t.Context())
	l.Must(err)
	l.Schedule(config)

	for _, profile := range []string{"spread", "pack"} {
		l.Create(workload.NewPod(profile, "100m", workload.ScheduledBy(profile)))
	}
	l.Eventually("pack is bound and spread is told why not", func() error {
		pack, spread := l.Pod("pack"), l.Pod("spread")
		told := slices.ContainsFunc(spread.Status.Conditions, func(c corev1.PodCondition) bool { return strings.Contains(c.Message, tooBusy) })
		if pack.Spec.NodeName != "busy" || spread.Spec.NodeName != "" || !told {
			return fmt.Errorf(
				"pack is on %q: %v; spread is on %q: %v", pack.Spec.NodeName, pack.Status.Conditions, spread.Spec.NodeName, spread.Status.Conditions,
			)
		}
		return nil
	})
}

// A node that NodeAffinity prefers gains 200 points by its weight of 2; an idle one gains 40 by LoadAware, times its weight.
func TestLoadAwareMovesTheChoiceByItsWeight(t *testing.T) {
	for weight, want := range map[int]string{4: "preferred", 6: "idle"} {
		t.Run(fmt.Sprint(weight), func(t *testing.T) {
			l := newCluster(t)
			l.Create(newNode("preferred", "preferred"), newNode("idle"))
			server := l.Muster(muster.Options{Profile: map[string]any{
				"plugins": map[string]any{"score": map[string]any{"enabled": []any{map[string]any{"name": "LoadAware", "weight": weight}}}},
			}})
			l.report("preferred", "3200m", time.Now()) // 80 % of the CPU, and as much memory as idle
			l.report("idle", "0", time.Now())
			l.Eventually("muster knows what nodes use", func() error {
				page, err := server.Page(l.Context(), "/debug/nodes")
				if err == nil && !strings.Contains(page, " 80%") {
					err = fmt.Errorf("the nodes are\n%s", page)
				}
				return err
			})
			config, err := server.SchedulerConfig(t.Context())
			l.Must(err)
			l.Schedule(config)
			pod := workload.NewPod("p", "0", func(pod *corev1.Pod) {
				pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
					PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{
						Weight: 1, Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
							{Key: "preferred", Operator: corev1.NodeSelectorOpExists},
						}},
					}},
				}}
			})
			l.Create(pod)
			l.Eventually("it is bound", func() error {
				if got := l.Pod("p").Spec.NodeName; got != want {
					return fmt.Errorf("it is on %q, want %s", got, want)
				}
				return nil
			})
		})
	}
}
