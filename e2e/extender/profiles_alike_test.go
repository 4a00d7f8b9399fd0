package extender_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

// byStrategy is how a kube-scheduler of its own is told to pack or to spread.
func byStrategy(strategy string) string {
	return `
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: ` + strategy + `, resources: [{name: cpu, weight: 1}, {name: memory, weight: 1}]}}
`
}

// alike is a muster's configuration for what byStrategy says, and flags with which kube-scheduler's is printed.
type alike struct {
	name, text string
	flags      []string
	change     func(*corev1.Pod)
}

// ways are all ways of choosing a node, and all forms in which a profile is written.
func ways(c *cluster, strategy string) []alike {
	c.Helper()
	profile := func(fields string) string {
		return `
profiles:
- schedulerName: default-scheduler
  ` + fields + `
  pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: ` + strategy + `}}}]
`
	}
	all := []alike{
		{name: "Scheduler", text: profile("nodeSelection: Scheduler")},
		{name: "Muster with offload", text: profile("nodeSelection: Muster\n  offload: true")},
		{name: "Muster", text: profile("nodeSelection: Muster")},
		{name: "Muster, by nomination", text: profile("nodeSelection: Muster") + "nomination: {minSaving: 0s}\n"},
		{name: "gated", text: profile("nodeSelection: Muster\n  gates: UntilPlace"), change: optedIn},
		{name: "a converted file", text: c.converted(byStrategy(strategy))},
	}
	if strategy == "MostAllocated" {
		const old = "apiVersion: config.muster.dev/v1alpha1\nprofiles: null\nalgorithmSource: {provider: ClusterAutoscalerProvider}\n"
		all = append(all,
			alike{name: "a provider", text: old},
			alike{name: "deprecated flags", text: old, flags: []string{"--config=", "--algorithm-provider=ClusterAutoscalerProvider"}},
			alike{name: "a policy", text: `
apiVersion: config.muster.dev/v1alpha1
profiles: null
algorithmSource:
  policy:
    predicates: [{name: GeneralPredicates}, {name: PodToleratesNodeTaints}]
    priorities: [{name: MostRequestedPriority, weight: 1}]
`})
	}
	return all
}

// converted returns what `muster config convert` makes of a file of kube-scheduler's.
func (c *cluster) converted(text string) string {
	c.Helper()
	file := filepath.Join(c.TempDir(), "scheduler.yaml")
	c.Must(os.WriteFile(file, []byte(text), 0o600))
	output, err := exec.CommandContext(c.Context(), lab.Program(c.T), "config", "convert", "-f", file).Output()
	c.Must(err)
	return string(output)
}

// asMuchMemory has a pod ask for a tenth of a node's memory, as it does of its CPU, so that no node is out of balance.
func asMuchMemory(pod *corev1.Pod) {
	pod.Spec.Containers[0].Resources.Requests[corev1.ResourceMemory] = resource.MustParse("6Gi")
}

// used is how many of 12 nodes 60 pods are on.
func (c *cluster) used(change func(*corev1.Pod)) int {
	c.Helper()
	const pods = 60
	if change == nil {
		change = func(*corev1.Pod) {}
	}
	c.createPods(workload.NewPods("pod", pods, "1", change, asMuchMemory)...)
	c.awaitBound(pods)
	return len(nodesUsed(c.Pods()))
}

// A profile that packs, or spreads, uses the same number of nodes as a kube-scheduler that is configured alone for it.
func TestAProfileMeansTheSameWhoeverPicksTheNode(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{"MostAllocated", "LeastAllocated"} {
		t.Run(strategy, func(t *testing.T) {
			nodes := workload.NewNodes("node", 12, "10", workload.Room(60, 110))
			alone := newCluster(t, nodes...)
			alone.Schedule(byStrategy(strategy))
			want := alone.used(nil)
			if packs := strategy == "MostAllocated"; packs && want > 7 || !packs && want < 12 {
				t.Fatalf("a kube-scheduler of its own uses %d nodes: the profile makes no difference", want)
			}
			for _, way := range ways(alone, strategy) {
				t.Run(way.name, func(t *testing.T) {
					decisive := strategy == "LeastAllocated" && slices.Contains([]string{"Scheduler", "Muster", "gated"}, way.name)
					lab.LongUnless(t, decisive || way.name == "a policy")
					c := newCluster(t, workload.NewNodes("node", 12, "10", workload.Room(60, 110))...)
					s := c.serve(muster.Options{Text: way.text})
					c.Schedule(s.schedulerConfig(way.flags))
					if got := c.used(way.change); got < want-1 || got > want+1 {
						t.Errorf("60 pods are on %d nodes, and on %d with a kube-scheduler of its own", got, want)
					}
					if outdated := s.metric("muster_scheduler_config_outdated", nil); outdated != 0 {
						t.Error("kube-scheduler was told of other profiles than muster has")
					}
				})
			}
		})
	}
}

// A configuration that was changed, or a file that was written by hand, is told of.
func TestAContradictionOfTheTwoFilesIsTold(t *testing.T) {
	c := newCluster(t, workload.NewNodes("node", 2, "10")...)
	s := c.serve(muster.Options{Text: ways(c, "MostAllocated")[0].text})
	c.Schedule(s.schedulerConfig(nil, func(config map[string]any) {
		config["profiles"] = []any{map[string]any{"schedulerName": corev1.DefaultSchedulerName}}
		for _, extender := range config["extenders"].([]any) {
			extender.(map[string]any)["urlPrefix"] = s.URL()
		}
	}))
	c.createPods(workload.NewPod("p", "1"))
	c.awaitBound(1)
	if outdated := s.metric("muster_scheduler_config_outdated", nil); outdated != 1 {
		t.Error("no metric tells that kube-scheduler spreads where the profile packs")
	}
	file := filepath.Join(t.TempDir(), "scheduler.yaml")
	c.Must(os.WriteFile(file, []byte(byStrategy("LeastAllocated")), 0o600))
	preflight := exec.CommandContext(t.Context(), lab.Program(t), "preflight", "--config="+s.Config(), "--kubeconfig="+c.Kubeconfig(),
		"--scheduler-config="+file)
	output, err := preflight.CombinedOutput()
	if want := "profiles[0].pluginConfig: NodeResourcesFit has other arguments in muster's profile"; err == nil ||
		!strings.Contains(string(output), want) {
		t.Errorf("preflight ends with %v, want %q in\n%s", err, want, output)
	}
}
