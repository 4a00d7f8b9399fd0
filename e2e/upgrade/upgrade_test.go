package upgrade

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/e2e/await"
	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/podwatch"
	"muster.dev/muster/e2e/workload"
)

const (
	// nodes of no pool are many enough for the load of several minutes.
	nodes = 150
	// enough is how many pods are bound before the upgrade goes on.
	enough = 150

	// The gang that lacks room until the upgrade is over: its members need a node of its pool each.
	lateGang    = "late"
	lateMembers = 6
	earlyNodes  = 4
)

// oldest and newest are the releases between which the cluster is upgraded.
var oldest, newest = binaries.Releases()[0], binaries.Newest

func TestMain(m *testing.M) { lab.Main(m) }

func TestAnUpgradeOfKubernetesLosesNoPod(t *testing.T) {
	lab.Long(t) // it builds the programs of the oldest release, and takes minutes
	s := newStage(t)
	s.advance("everything is of the old release", enough)
	s.Must(s.load.createGang(t.Context(), lateGang, lateMembers, ofLatePool))
	s.awaitWaiting()

	s.Must(s.Use(t.Context(), newest))
	s.replaceAPIServer()
	s.wantRelease("API server", newest, s.releaseOfAPIServer)
	s.wantRelease("scheduler", oldest, s.releaseOfScheduler)
	s.advance("the API server is of the new release", enough)

	s.StopControllerManager()
	s.Must(s.StartControllerManager(t.Context(), controlplane.DefaultControllers()))

	created, _ := s.load.progress()
	s.StopScheduler()
	s.Eventually("pods come that nobody schedules", func() error {
		if now, _ := s.load.progress(); now < created+enough/3 {
			return fmt.Errorf("%d were created", now-created)
		}
		return nil
	})
	s.Must(s.StartScheduler(t.Context(), s.scheduler))
	s.wantRelease("scheduler", newest, s.releaseOfScheduler)
	s.advance("everything is of the new release", 2*enough)

	s.awaitWaiting()
	s.record.open()
	for i := earlyNodes; i < lateMembers; i++ {
		s.createNode(newNode(fmt.Sprintf("late-%d", i), lateGang))
	}
	s.endLoad()
	s.judge()
}

// ofLatePool has a pod need a node of the pool alone.
func ofLatePool(p *corev1.Pod) {
	p.Spec.NodeSelector[pool] = lateGang
	p.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = newNode("", "").Status.Allocatable[corev1.ResourceCPU]
}

// stage is a cluster of the old release on which muster chooses nodes, and the load on it.
type stage struct {
	*lab.Lab
	server    *muster.Server
	scheduler controlplane.SchedulerOptions
	record    *record
	load      *load
	endLoad   func()
}

func newStage(t *testing.T) *stage {
	t.Helper()
	ctx := t.Context()
	s := &stage{
		Lab: lab.Take(t, lab.Options{CRDs: true, Options: controlplane.Options{
			Release: oldest, Controllers: []string{"replicaset-controller"}, // any controller: there is a controller manager to upgrade then
		}}),
		record: newRecord(lateGang),
	}
	s.Must(s.StartKWOK(ctx))
	for i := range nodes {
		s.createNode(newNode(fmt.Sprintf("node-%03d", i), ""))
	}
	for i := range earlyNodes {
		s.createNode(newNode(fmt.Sprintf("late-%d", i), lateGang))
	}
	s.server = s.Muster(muster.Options{Selection: muster.Muster, Profile: packing()})
	config, err := s.server.SchedulerConfig(ctx)
	s.Must(err)
	s.scheduler.Config = config
	s.Schedule(config)
	s.wantRelease("API server", oldest, s.releaseOfAPIServer)
	s.wantRelease("scheduler", oldest, s.releaseOfScheduler)

	watch, err := podwatch.StartFor(ctx, s.Client, "", s.record.observe)
	s.Must(err)
	t.Cleanup(watch.Stop)
	s.load = &load{client: s.Client, dynamic: s.Dynamic, gangs: map[string]int{}}
	loading, end := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- s.load.run(loading) }()
	s.endLoad = func() {
		t.Helper()
		end()
		s.Must(<-ended)
	}
	t.Cleanup(end)
	return s
}

// packing returns fields of a profile that fills one node after the other: a scheduler that forgets a pod puts too much on
// a node.
func packing() map[string]any {
	const plugin = "NodeResourcesFit"
	return map[string]any{
		"plugins": map[string]any{"score": map[string]any{
			"enabled": []any{map[string]any{"name": plugin, "weight": 1}}, "disabled": []any{map[string]any{"name": "*"}},
		}},
		"pluginConfig": []any{map[string]any{"name": plugin, "args": map[string]any{
			"scoringStrategy": map[string]any{"type": "MostAllocated", "resources": []any{map[string]any{"name": "cpu", "weight": 1}}},
		}}},
	}
}

func (s *stage) createNode(n *corev1.Node) {
	s.Helper()
	created, err := s.Client.CoreV1().Nodes().Create(s.Context(), n, metav1.CreateOptions{})
	s.Must(err)
	s.record.node(created)
}

// advance returns when a number of further pods are bound.
func (s *stage) advance(phase string, count int) {
	s.Helper()
	before := s.record.bound()
	s.Eventually("pods are bound while "+phase, func() error {
		if bound := s.record.bound() - before; bound < count {
			return fmt.Errorf("%d are bound, want %d", bound, count)
		}
		return nil
	})
	created, failed := s.load.progress()
	s.Logf("%s: %d pods created, %d bound, %d calls failed", phase, created, s.record.bound(), failed)
}

// awaitWaiting returns when muster knows all members of the gang that lacks room, and that none may start.
func (s *stage) awaitWaiting() {
	s.Helper()
	s.Eventually("the gang waits", func() error {
		gangs, err := s.server.Gangs(s.Context())
		if err != nil {
			return err
		}
		want := muster.Gang{MinMember: lateMembers, Pending: lateMembers}
		if g := gangs[workload.Namespace+"/"+lateGang]; g != want {
			return fmt.Errorf("it is %+v, want %+v", g, want)
		}
		return nil
	})
}

// replaceAPIServer returns when the API server of the release in use is ready, some calls having failed.
func (s *stage) replaceAPIServer() {
	s.Helper()
	_, before := s.load.progress()
	s.StopAPIServer()
	s.Eventually("calls fail", func() error {
		if _, failed := s.load.progress(); failed == before {
			return errors.New("none has")
		}
		return nil
	})
	s.Must(s.StartAPIServer(s.Context()))
}

// wantRelease fails the test when a component is not of a release.
func (s *stage) wantRelease(component string, want binaries.Release, of func(context.Context) (string, error)) {
	s.Helper()
	version, err := of(s.Context())
	s.Must(err)
	if !strings.HasPrefix(version, "v"+string(want)+".") {
		s.Fatalf("the %s is of version %s, want release %s", component, version, want)
	}
}

func (s *stage) releaseOfAPIServer(context.Context) (string, error) {
	version, err := s.Client.Discovery().ServerVersion()
	if err != nil {
		return "", err
	}
	return version.GitVersion, nil
}

func (s *stage) releaseOfScheduler(ctx context.Context) (string, error) {
	metrics, err := s.SchedulerMetrics(ctx)
	if err != nil {
		return "", err
	}
	for _, m := range metrics["kubernetes_build_info"].GetMetric() {
		for _, label := range m.GetLabel() {
			if label.GetName() == "git_version" {
				return label.GetValue(), nil
			}
		}
	}
	return "", errors.New("the scheduler does not say its version")
}

// judge prints and judges what came of it, once the scheduler has done what it can.
func (s *stage) judge() {
	s.Helper()
	created, members := s.load.done()
	var missing []string
	err := await.Until(s.Context(), "all pods are bound", func(ctx context.Context) error {
		pods, err := s.Client.CoreV1().Pods(workload.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		missing = lost(created, pods.Items)
		if bound := s.record.bound(); len(missing) > 0 || bound < len(created) {
			return fmt.Errorf("%d are missing, and %d of %d were seen bound", len(missing), bound, len(created))
		}
		return nil
	})
	if err != nil {
		s.Error(err)
	}
	wrong, err := s.record.wrong(members)
	s.Must(err)
	fmt.Printf("figure upgrade_pods=%d\n", len(created))
	fmt.Printf("figure upgrade_pods_lost=%d\n", len(missing))
	fmt.Printf("figure upgrade_wrong_bindings=%d\n", len(wrong))
	if len(missing) > 0 {
		s.Errorf("lost: %s", strings.Join(missing, ", "))
	}
	for _, text := range wrong {
		s.Errorf("wrong: %s", text)
	}
}
