// Package lab lends real control planes to tests.
//
//	func TestMain(m *testing.M) { lab.Main(m) }
//
//	func TestAPodIsBound(t *testing.T) {
//		l := lab.Take(t, lab.Options{})
//		l.Create(workload.NewNode("a", "4"))
//		…
//	}
//
// A test has its control plane for itself until it ends. Then everything that it left there is deleted through the API, and the
// next test that asks for the same options takes it: starting another one costs ten times as much. A control plane that a test
// failed on, or whose state the API can't restore, is stopped; the logs of a failed test are kept, and the test says where.
//
// Tests that take one run in parallel, as they wait more than they compute: as many at a time as -test.parallel says.
package lab

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"muster.dev/muster/e2e/await"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/process"
)

// Options of a control plane that a test takes. The zero value is one whose pods are created and nothing else.
type Options struct {
	controlplane.Options
	// CRDs says that the kinds of the chart are known from the start.
	CRDs bool
}

// Lab is a control plane while one test has it.
type Lab struct {
	*testing.T
	*controlplane.ControlPlane
	Client  kubernetes.Interface
	Dynamic dynamic.Interface
	plane   *plane
}

// Take takes a control plane until the test ends. The test runs in parallel with others from here on.
func Take(t *testing.T, o Options) *Lab {
	t.Helper()
	t.Parallel()
	return take(t, o)
}

func take(t *testing.T, o Options) *Lab {
	t.Helper()
	p, err := planes.take(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if kept := planes.giveBack(t, p); kept != "" {
			t.Logf("logs of the control plane: %s", kept)
		}
	})
	return p.of(t)
}

func (p *plane) of(t *testing.T) *Lab {
	return &Lab{T: t, ControlPlane: p.ControlPlane, Client: p.client, Dynamic: p.dynamic, plane: p}
}

// Long skips a test that `make test` has no time for. `make test-long` runs it.
func Long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("long: make test-long runs it")
	}
}

// Of is the same control plane for a subtest.
func (l *Lab) Of(t *testing.T) *Lab { return l.plane.of(t) }

// Discard has the control plane stopped with the test: to delete what is in it would take longer than to start another one, as
// with dozens of definitions.
func (l *Lab) Discard() { l.plane.last = true }

// Must ends the test on an error.
func (l *Lab) Must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

// Eventually polls check until it returns nil, and ends the test when that takes longer than [await.Patience].
func (l *Lab) Eventually(what string, check func() error) {
	l.Helper()
	Eventually(l.T, what, check)
}

// Eventually is [Lab.Eventually] for a test without a control plane.
func Eventually(t testing.TB, what string, check func() error) {
	t.Helper()
	if err := await.Until(t.Context(), what, func(context.Context) error { return check() }); err != nil {
		t.Fatal(err)
	}
}

// Create creates nodes and pods as they are.
func (l *Lab) Create(objects ...metav1.Object) {
	l.Helper()
	for _, object := range objects {
		var err error
		switch o := object.(type) {
		case *corev1.Node:
			_, err = l.Client.CoreV1().Nodes().Create(l.Context(), o, metav1.CreateOptions{})
		case *corev1.Pod:
			_, err = l.Client.CoreV1().Pods(o.Namespace).Create(l.Context(), o, metav1.CreateOptions{})
		default:
			l.Fatalf("Create knows no %T", object)
		}
		l.Must(err)
	}
}

// Schedule runs the stock kube-scheduler with a configuration until the test ends.
func (l *Lab) Schedule(config string) {
	l.Helper()
	l.Must(l.StartScheduler(l.Context(), controlplane.SchedulerOptions{Config: config}))
	l.Cleanup(l.StopScheduler)
}

// Muster runs a muster until the test ends and returns when it is ready. The test fails when it ends by itself.
func (l *Lab) Muster(o muster.Options) *muster.Server {
	l.Helper()
	o.ControlPlane, o.Progress = l.ControlPlane, l.Output()
	if o.Binary == "" {
		o.Binary = Program(l.T)
	}
	server, err := muster.Start(l.Context(), o)
	l.Must(err)
	l.Cleanup(func() {
		if err := server.Err(); err != nil {
			l.Error(err)
		}
		server.Stop()
		if l.T.Failed() {
			l.Logf("muster's log ends with:\n%s", process.Tail(server.Log()))
		}
	})
	return server
}

// MusterWithScheduler runs a muster and a stock kube-scheduler that calls it.
func (l *Lab) MusterWithScheduler(o muster.Options) *muster.Server {
	l.Helper()
	server := l.Muster(o)
	config, err := server.SchedulerConfig(l.Context())
	l.Must(err)
	l.Schedule(config)
	return server
}
