package trial

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"muster.dev/muster/api/config"
	"muster.dev/muster/rescheduler/once"
)

// newWorld returns the world of a dump, and of a configuration with all kinds of gangs.
func newWorld(t *testing.T, dump ...string) *World {
	t.Helper()
	cfg := config.Default()
	cfg.Gangs.Kinds, cfg.Gangs.ReserveAfter.Duration = config.GangKinds(), time.Minute
	cfg.Rescheduler.Evictable.MinReplicas = 0 // the only pod of a ReplicaSet may move
	w, err := New(t.Context(), cfg, once.Source{
		Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), Files: []string{"-"},
		Stdin: strings.NewReader("# YAML\n" + strings.Join(dump, "\n---\n")),
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// onNode is a node with eight CPUs, with labels as in {rack: r}.
func onNode(name, labels string) string {
	labels = strings.Replace("{kubernetes.io/hostname: "+name+", "+labels[1:], ", }", "}", 1)
	return "{apiVersion: v1, kind: Node, metadata: {name: " + name + ", labels: " + labels + "}, status: {allocatable: {cpu: 8, pods: 110}}}"
}

// running is a pod on a node, with a deadline after some seconds, "" for none. It may move, as a ReplicaSet replaces it.
func running(name, node, cpu, deadline string) string {
	owner := "{apiVersion: apps/v1, kind: ReplicaSet, name: %[1]s, uid: %[1]s, controller: true}"
	return "{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: " + name + ", uid: " + name + "}, spec: {replicas: 1}}\n---\n" +
		bare(name, node, cpu, deadline, fmt.Sprintf(owner, name))
}

// bare is a pod as running makes it that nobody replaces, unless it has owners.
func bare(name, node, cpu, deadline string, owners ...string) string {
	if deadline != "" {
		deadline = "activeDeadlineSeconds: " + deadline + ", "
	}
	started := time.Now().UTC().Format(time.RFC3339)
	return fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {name: %s, creationTimestamp: %[5]q, ownerReferences: [%[6]s]},
  spec: {nodeName: %[2]s, schedulerName: default-scheduler, %[4]scontainers: [{name: c, resources: {requests: {cpu: %[3]s}}}]},
  status: {phase: Running, startTime: %[5]q, conditions: [
    {type: Ready, status: "True"}, {type: PodScheduled, status: "True", lastTransitionTime: %[5]q}]}}`,
		name, node, cpu, deadline, started, strings.Join(owners, ""))
}

// spec is of pods that ask for CPUs.
func spec(cpu string, more ...string) string {
	const text = "{containers: [{name: c, image: x, resources: {requests: {cpu: %s}}}]%s}"
	return fmt.Sprintf(text, cpu, strings.Join(append([]string{""}, more...), ", "))
}

func job(name string, pods int, cpu string, more ...string) string {
	return fmt.Sprintf("{apiVersion: batch/v1, kind: Job, metadata: {name: %s}, spec: {parallelism: %d, template: {spec: %s}}}",
		name, pods, spec(cpu, more...))
}

// told returns what an answer says of each part, without times of day.
func told(a *Answer) (all []string) {
	for i := range a.Parts {
		p := a.Parts[i]
		text := fmt.Sprint(p.Name, " ", p.Outcome, " ", p.Found, "/", p.Wanted)
		on := map[string]int{}
		for _, place := range p.Places {
			on[place.Node]++
		}
		if p.Evicted > 0 {
			text += fmt.Sprintf(" of %d", p.Evicted)
		}
		for i, count := range slices.Backward(slices.Sorted(maps.Values(on))) {
			text += strings.Repeat(" on", max(0, i+2-len(on))) + fmt.Sprint(" ", count)
		}
		for _, move := range p.Moves {
			text += fmt.Sprintf(", %s from %s to %s", move.Pod, move.From, move.To)
		}
		for _, more := range p.More {
			text += fmt.Sprintf(", %d more like %s", more.Nodes, more.Like)
		}
		if p.Doubtful {
			text += " would not do"
		}
		if p.Ends > 0 {
			text += fmt.Sprintf(" after %d in %ds", p.Ends, int(p.InSeconds+5)/10*10)
		}
		all = append(all, text)
	}
	return all
}

func TestWhatWouldBecomeOfPods(t *testing.T) {
	small := []string{onNode("n1", "{}"), onNode("n2", "{}")}
	with := func(more ...string) []string { return append(append([]string{}, small...), more...) }
	const gang = `{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup, metadata: {name: g}, spec: {minMember: %d}}`
	member := func(i int, cpu string) string {
		const text = "{apiVersion: v1, kind: Pod, metadata: {name: m-%d, labels: {scheduling.x-k8s.io/pod-group: g}}, spec: %s}"
		return fmt.Sprintf(text, i, spec(cpu))
	}
	ray := func(head, replicas, worker string) string {
		return "{apiVersion: ray.io/v1, kind: RayCluster, metadata: {name: r}, spec: {enableInTreeAutoscaling: true, " +
			"headGroupSpec: {template: {spec: " + spec(head) + "}}, workerGroupSpecs: [{groupName: w, " + replicas + ", " +
			"template: {spec: " + spec(worker) + "}}]}}"
	}
	for name, test := range map[string]struct {
		dump     []string
		manifest string
		want     Outcome
		parts    []string
	}{
		"room now": {small, job("j", 3, "4"), Now, []string{"Job default/j Now 3/3 on 2 1"}},
		"of a Deployment all pods": {
			small,
			"{apiVersion: apps/v1, kind: Deployment, metadata: {name: w}, spec: {replicas: 5, template: {spec: " + spec("4") + "}}}",
			MoreNodes,
			[]string{"Deployment default/w MoreNodes 4/5 on 2 2, 1 more like n2"},
		},
		"after a move": {
			with(running("a", "n1", "4", ""), bare("b", "n2", "4", "")), job("j", 1, "8"), AfterMoves,
			[]string{"Job default/j AfterMoves 0/1 on 1, default/a from n1 to n2"},
		},
		"at a time": {
			with(running("a", "n1", "8", "600"), running("b", "n2", "8", "")), job("j", 2, "4"), Later,
			[]string{"Job default/j Later 0/2 on 2 after 1 in 600s"},
		},
		"after evictions": {
			with(running("a", "n1", "8", ""), running("b", "n2", "8", "")), job("j", 1, "4", "priority: 1"), AfterEvictions,
			[]string{"Job default/j AfterEvictions 0/1 of 1 on 1"},
		},
		"of the lowest priority": {
			with(
				strings.Replace(bare("a", "n1", "8", ""), "spec: {", "spec: {priority: 2, ", 1), bare("b", "n2", "4", ""),
				strings.Replace(bare("c", "n2", "4", ""), "spec: {", "spec: {priority: 3, ", 1),
			),
			job("j", 1, "4", "priority: 3") + "\n---\n" + job("k", 1, "4", "priority: 3", "preemptionPolicy: Never"),
			MoreNodes,
			[]string{"Job default/j AfterEvictions 0/1 of 1 on 1", "Job default/k MoreNodes 0/1, 1 more like n2"},
		},
		"at no time that is known": {
			with(running("a", "n1", "8", ""), running("b", "n2", "8", "")), job("j", 2, "4"), MoreNodes,
			[]string{"Job default/j MoreNodes 0/2, 1 more like n2"},
		},
		"never, by size": {small, job("j", 2, "9"), Never, []string{"Job default/j Never 0/2"}},
		"never, by a selector": {
			small, job("j", 2, "1", "nodeSelector: {gpu: h100}"), Never, []string{"Job default/j Never 0/2"},
		},
		"never, by its scheduler": {
			small, job("j", 2, "1", "schedulerName: nobody"), Never, []string{"Job default/j Never 0/0"},
		},
		"one takes the room of the next": {
			small, job("a", 3, "4") + "\n---\n" + job("b", 2, "4"), MoreNodes,
			[]string{"Job default/a Now 3/3 on 2 1", "Job default/b MoreNodes 1/2 on 1, 1 more like n2"},
		},
		"the one of higher priority comes first": {
			small, job("a", 3, "4") + "\n---\n" + job("b", 2, "4", "priority: 5"), MoreNodes,
			[]string{"Job default/b Now 2/2 on 1 1", "Job default/a MoreNodes 2/3 on 1 1, 1 more like n2"},
		},
		"the one of a higher class comes first": {
			with("{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: low}, value: 1, globalDefault: true}"),
			job("a", 3, "4") + "\n---\n" + job("b", 2, "4", "priorityClassName: high") + "\n---\n" +
				"{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 2}",
			MoreNodes,
			[]string{"Job default/b Now 2/2 on 1 1", "Job default/a MoreNodes 2/3 on 1 1, 1 more like n2"},
		},
		"a gang starts with its minimum": {
			small, strings.Join([]string{
				fmt.Sprintf(gang, 4), member(0, "4"), member(1, "4"), member(2, "4"), member(3, "4"), member(4, "4"),
			}, "\n---\n"),
			Now,
			[]string{"gang default/g Now 4/4 on 2 2"},
		},
		"a gang without all of its members": {
			small, fmt.Sprintf(gang, 2) + "\n---\n" + member(0, "4"), Never, []string{"gang default/g Never 0/0"},
		},
		"a JobSet in one rack": {
			[]string{
				onNode("n1", "{rack: r}"), onNode("n2", "{rack: s}"), onNode("n3", "{rack: s}"), running("a", "n1", "4", ""),
				running("b", "n2", "4", ""), running("c", "n3", "4", ""),
			},
			"{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {name: s}, spec: {replicatedJobs: [{name: w, replicas: 2, " +
				"template: {spec: {parallelism: 1, completions: 1, template: {metadata: {annotations: {muster.dev/required-topology: rack}}, spec: " +
				spec("4") + "}}}}]}}",
			Now,
			[]string{"gang default/s Now 2/2 on 1 1"},
		},
		"a JobSet that makes no sense": {
			small, "{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {name: s}, spec: {template: {spec: " + spec("4") + "}}}",
			Now,
			[]string{"JobSet default/s Now 1/1 on 1"},
		},
		"each replica of a LeaderWorkerSet": {
			small, "{apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, metadata: {name: l}, spec: {replicas: 2, " +
				"leaderWorkerTemplate: {size: 3, leaderTemplate: {spec: " + spec("1") + "}, workerTemplate: {spec: " + spec("3") + "}}}}",
			Now,
			[]string{"gang default/l/0 Now 3/3 on 2 1", "gang default/l/1 Now 3/3 on 2 1"},
		},
		"all roles of a PyTorchJob": {
			small, "{apiVersion: kubeflow.org/v1, kind: PyTorchJob, metadata: {name: p}, spec: {pytorchReplicaSpecs: " +
				"{Master: {replicas: 1, template: {spec: " + spec("8") + "}}, Worker: {replicas: 2, template: {spec: " + spec("4") + "}}}}}",
			Now,
			[]string{"gang default/p Now 3/3 on 2 1"},
		},
		"a RayCluster that may grow": {
			small, ray("2", "replicas: 3, minReplicas: 2", "6"),
			Now,
			[]string{"gang default/r/headgroup and default/r/w Now 3/3 on 2 1"},
		},
		"a RayCluster, after a move": {
			with(bare("a", "n1", "4", ""), running("b", "n2", "3", "")),
			ray("6", "replicas: 2, minReplicas: 1", "2"),
			AfterMoves,
			[]string{"gang default/r/headgroup and default/r/w AfterMoves 0/2 on 2, default/b from n2 to n1"},
		},
		"a RayCluster with as few workers as it may have": {
			small, ray("2", "minReplicas: 2", "6"), Now, []string{"gang default/r Now 3/3 on 2 1"},
		},
		"a RayCluster with workers that are suspended": {
			small, ray("2", "replicas: 2, suspend: true", "9"), Now, []string{"RayCluster default/r Now 1/1 on 1"},
		},
		"the RayCluster of a RayJob": {
			small,
			"{apiVersion: ray.io/v1, kind: RayJob, metadata: {name: r}, spec: {rayClusterSpec: {headGroupSpec: {template: {spec: " + spec("2") +
				"}}, workerGroupSpecs: [{groupName: w, replicas: 2, template: {spec: " + spec("6") + "}}]}}}",
			Now,
			[]string{"gang default/r Now 3/3 on 2 1"},
		},
		"a replica of a LeaderWorkerSet without workers": {
			small, "{apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, metadata: {name: l}, spec: {" +
				"leaderWorkerTemplate: {leaderTemplate: {spec: " + spec("1") + "}, workerTemplate: {spec: " + spec("9") + "}}}}",
			Now,
			[]string{"LeaderWorkerSet default/l Now 1/1 on 1"},
		},
		"nodes with one port each": {
			[]string{onNode("n1", "{}")},
			"{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {parallelism: 4, template: {spec: " +
				"{containers: [{name: c, image: x, ports: [{containerPort: 80, hostPort: 80}]}]}}}}",
			MoreNodes,
			[]string{"Job default/j MoreNodes 1/4 on 1, 3 more like n1"},
		},
		"nodes of two kinds": {
			[]string{onNode("n1", "{a: a}"), onNode("n2", "{b: b}"), bare("x", "n1", "8", ""), bare("z", "n2", "8", "")},
			"{apiVersion: kubeflow.org/v1, kind: PyTorchJob, metadata: {name: p}, spec: {pytorchReplicaSpecs: " +
				"{Master: {template: {spec: " + spec("8", "nodeSelector: {a: a}") + "}}, Worker: {replicas: 6, template: {spec: " +
				spec("4", "nodeSelector: {b: b}") + "}}}}}",
			MoreNodes,
			[]string{"gang default/p MoreNodes 0/7, 1 more like n1, 3 more like n2"},
		},
		"nodes with what each node has": {
			[]string{onNode("n1", "{}"), bare("d", "n1", "4", "", "{apiVersion: apps/v1, kind: DaemonSet, name: d, uid: d, controller: true}")},
			job("j", 3, "4"),
			MoreNodes,
			[]string{"Job default/j MoreNodes 1/3 on 1, 2 more like n1"},
		},
		"never, beside what each node has": {
			[]string{onNode("n1", "{}"), bare("s", "n1", "4", "", "{apiVersion: v1, kind: Node, name: n1, uid: n1, controller: true}")},
			job("j", 1, "8"),
			Never,
			[]string{"Job default/j Never 0/1"},
		},
		"near a pod beside which there is no room yet": {
			with(
				strings.Replace(bare("a", "n1", "4", ""), "{name: a,", "{name: a, labels: {app: a},", 1), bare("b", "n1", "4", ""),
			),
			job("j", 1, "4", "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "+
				"[{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: a}}}]}}"),
			MoreNodes,
			[]string{"Job default/j MoreNodes 0/1, 1 more like n1 would not do"},
		},
		"pods that start one by one take room though not all have any": {
			small,
			"{apiVersion: apps/v1, kind: Deployment, metadata: {name: w}, spec: {replicas: 5, template: {spec: " +
				spec("4", "priority: 1") + "}}}\n---\n" + job("j", 1, "4"),
			MoreNodes,
			[]string{"Deployment default/w MoreNodes 4/5 on 2 2, 1 more like n2", "Job default/j MoreNodes 0/1, 1 more like n2"},
		},
		"names that are generated, in a list": {
			small,
			"{apiVersion: v1, kind: PodList, items: [{metadata: {generateName: p-}, spec: " + spec("8") + "}, " +
				"{metadata: {generateName: p-}, spec: " + spec("8") + "}]}",
			Now,
			[]string{"Pod default/p-try0 Now 1/1 on 1", "Pod default/p-try1 Now 1/1 on 1"},
		},
		"spread by the labels that a Job adds": {
			small, job("j", 2, "1", "topologySpreadConstraints: [{maxSkew: 1, topologyKey: kubernetes.io/hostname, "+
				"whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {job-name: j}}}]"),
			Now,
			[]string{"Job default/j Now 2/2 on 1 1"},
		},
		"the next Job of a CronJob": {
			small, "{apiVersion: batch/v1, kind: CronJob, metadata: {name: c}, spec: {jobTemplate: " +
				"{metadata: {annotations: {muster.dev/gang-scope: all}}, spec: {parallelism: 2, template: {spec: " + spec("4") + "}}}}}",
			Now,
			[]string{"gang default/c Now 2/2 on 1 1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := newWorld(t, test.dump...).Try([]byte("# YAML\n"+test.manifest), "default")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.parts, told(got)); diff != "" || got.Outcome != test.want {
				t.Errorf("outcome %s, want %s; parts (-want +got):\n%s%v", got.Outcome, test.want, diff, got.Parts)
			}
		})
	}
}

// A pod on another node is in the way, too, and alone.
func TestWhoHasToEndIsNamedOnWhateverNodeItIs(t *testing.T) {
	w := newWorld(
		t, onNode("n1", "{zone: a}"), onNode("n2", "{zone: a}"),
		strings.Replace(bare("a", "n1", "1", "259200"), "{name: a,", "{name: a, labels: {app: a},", 1),
	)
	apart := job("j", 1, "8", "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "+
		"[{topologyKey: zone, labelSelector: {matchLabels: {app: a}}}]}}")
	got, err := w.Try([]byte("# YAML\n"+apart), "default")
	if err != nil {
		t.Fatal(err)
	}
	want := "Job default/j, 1 pod: room about " + got.Parts[0].At.UTC().Format(time.RFC3339)
	if text := got.Parts[0].String(); !strings.HasPrefix(text, want) || !strings.HasSuffix(text, ", when 1 pod has ended, default/a") {
		t.Errorf("it is said %q, want %q and which pod has to end", text, want)
	}
}

func TestWhatIsWrongWithAManifestIsSaid(t *testing.T) {
	pod := func(metadata, spec string) string {
		return "{apiVersion: v1, kind: Pod, metadata: " + metadata + ", spec: " + spec + "}"
	}
	for manifest, want := range map[string]string{
		"":                  "nothing in it makes pods",
		"kind: Pod":         "document 1: object 1: apiVersion: nothing, or no text",
		pod("5", "{}"):      "document 1: object 1: metadata: nothing, or no object",
		onNode("n2", "{}"):  "Node n2: kind: nodes are those of the cluster",
		job("none", 0, "1"): "nothing in it makes pods",
		job("classy", 1, "1", "priorityClassName: high"):            "Job default/classy: spec.priorityClassName: there is no PriorityClass high",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}":    "nothing in it makes pods",
		pod("{name: p}", "{nodeName: n1, containers: []}"):          "spec.nodeName: its pods have a node already",
		job("placed", 1, "1", "nodeName: n1"):                       "Job default/placed: spec.nodeName: its pods have a node already",
		pod("{name: a}", spec("1")):                                 "there is a pod default/a already",
		job("j", 30_000, "1"):                                       "Job default/j: 30000 pods are made, and no more than 20000 are looked at",
		pod("{name: p}", "{containers: [{name: c, resource: {}}]}"): `Pod default/p: json: unknown field "resource"`,
		job("many", 10_001, "1"):                                    "Job default/many: 10001 pods start one by one",
		pod("{name: p}", "{priority: high, containers: []}"):        "priority",
		"{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: d}, spec: {template: {spec: " + spec("1") + "}}}": "a pod on each node",
		pod("{name: p}", "{containers: [{resources: {requests: {cpu: -4}}}]}"):                                     "requests: cpu: -4: want",
		"{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {replicas: '3'}}":                      "of type int32",
		"{apiVersion: batch/v1, kind: Job, metadata: {name: d}, spec: {paralelism: 3}}":                            `field "paralelism"`,
		pod("{name: p}", spec("many")) + "\n---\n{kind: [}":                                                        "document 2",
	} {
		const class = "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: low}, value: 1}"
		if _, err := newWorld(
			t,
			onNode("n1", "{}"),
			running("a", "n1", "1", ""),
			class,
		).Try([]byte("# YAML\n"+manifest), "default"); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want that it says %q", manifest, err, want)
		}
	}
}
