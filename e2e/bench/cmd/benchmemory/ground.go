package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/e2e/bench/contender"
	"muster.dev/muster/e2e/bench/lab"
	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/process"
	"muster.dev/muster/e2e/workload"
)

// program is one of the two that are started. Its value is its name in figures.
type program string

const (
	schedulerProgram program = "scheduler"
	musterProgram    program = "muster"
)

var programs = []program{schedulerProgram, musterProgram}

// ground is a control plane with nodes and what runs on them.
type ground struct {
	*lab.Lab
	programs contender.Programs
}

// deployments is how many kinds of pods there are.
const deployments = 200

// atATime is for how many nodes pods are made before they are created: all pods of a large cluster at a time would need more
// memory than what is measured.
const atATime = 500

// newGround starts a control plane and fills it, which takes some milliseconds a pod. The caller must call Close.
func newGround(ctx context.Context, count, perNode int, out io.Writer) (_ *ground, err error) {
	g := &ground{}
	var remove func()
	if g.programs, remove, err = contender.Build(ctx, out); err != nil {
		return nil, err
	}
	nodes := workload.Generate(workload.Shape{Nodes: count, Seed: 1}).Nodes
	if g.Lab, err = lab.Start(ctx, lab.Options{Nodes: nodes}, out); err != nil {
		remove()
		return nil, err
	}
	g.OnClose(remove)
	began := time.Now()
	for from := 0; from < count; from += atATime {
		to := min(from+atATime, count)
		some := workload.Cluster{Pods: running(nodes[from:to], from, perNode)}
		if err := some.CreateWorkloads(ctx, g.Client); err != nil {
			g.Close()
			return nil, err
		}
		fmt.Fprintf(out, "%6s  %d of %d pods are there\n", time.Since(began).Round(time.Second), to*perNode, count*perNode)
	}
	return g, nil
}

// running makes pods for some of all nodes, from number first on.
func running(nodes []*corev1.Node, first, perNode int) []*corev1.Pod {
	pods := workload.Backlog(len(nodes)*perNode, deployments)
	for i, pod := range pods {
		n := i / perNode
		pod.Name = fmt.Sprintf("running-%d-%d", first+n, i%perNode)
		pod.Spec.NodeName = nodes[n].Name
		furnish(pod)
	}
	return pods
}

// furnish gives a pod what pods have that charts make: variables, mounts, probes, labels and annotations. A scheduler reads none
// of that but the labels.
func furnish(pod *corev1.Pod) {
	app := pod.Labels["app"]
	for _, label := range []string{"name", "instance", "version", "component", "part-of", "managed-by"} {
		pod.Labels["app.kubernetes.io/"+label] = app
	}
	pod.Annotations = map[string]string{
		"checksum/config":      "6f1d0c5ce8a1b1b7c5d9c0d8a9f0e6b1f5d6b7c8a9e0f1d2c3b4a5968778695a",
		"prometheus.io/scrape": "true", "prometheus.io/port": "8080", "prometheus.io/path": "/metrics",
	}
	main := &pod.Spec.Containers[0]
	main.Args = []string{"--config=/etc/" + app + "/config.yaml", "--listen=:8080", "--log-format=json", "--log-level=info"}
	main.Ports = []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}, {Name: "metrics", ContainerPort: 9090}}
	for _, field := range []string{"metadata.name", "metadata.namespace", "spec.nodeName"} {
		from := &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: field}}
		main.Env = append(main.Env, corev1.EnvVar{Name: strings.ToUpper(strings.ReplaceAll(field, ".", "_")), ValueFrom: from})
	}
	for i := range 8 {
		main.Env = append(main.Env, corev1.EnvVar{Name: fmt.Sprintf("SETTING_%d", i), Value: "a value of a setting of " + app})
	}
	probe := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"/bin/" + app, "check"}}}}
	main.LivenessProbe, main.ReadinessProbe = probe, probe
	pod.Spec.Volumes = []corev1.Volume{
		{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: app},
		}}},
	}
	main.VolumeMounts = []corev1.VolumeMount{{Name: "tmp", MountPath: "/tmp"}, {Name: "config", MountPath: "/etc/" + app}}
}

// patience is for a program that starts on a large cluster.
const patience = 10 * time.Minute

// run starts a program, and stops it.
func (g *ground) run(ctx context.Context, p program) (m measurement, err error) {
	c := contender.Stock
	if p == musterProgram {
		c = contender.Scheduler
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("gave up after %s", patience))
	defer cancel()
	began := time.Now()
	entry, err := g.programs.Launch(ctx, g.ControlPlane, c, 0)
	if err != nil {
		return m, err
	}
	defer entry.Stop()
	var pid int
	if p == musterProgram {
		err = entry.AwaitExtender(ctx)
		pid, _ = entry.ExtenderPid()
	} else {
		err = entry.StartScheduler(ctx)
		pid = g.Pids()[binaries.Scheduler]
	}
	if err != nil {
		return m, err
	}
	m.ready = time.Since(began)
	if err := g.awaitIdle(ctx, pid); err != nil {
		return m, err
	}
	m.memory, err = process.MemoryOf(pid)
	return m, err
}

// awaitIdle returns when a process has hardly computed for a while: when what it collected on its way is free again.
func (g *ground) awaitIdle(ctx context.Context, pid int) error {
	const calm, share = 20 * time.Second, 50
	var last time.Duration
	since := time.Now()
	return g.Await(ctx, "the program to be idle", patience, func(context.Context) (bool, error) {
		now, err := process.CPU(pid)
		if elapsed := time.Since(since); now-last > elapsed/share {
			last, since = now, time.Now()
		}
		return time.Since(since) >= calm, err
	})
}
