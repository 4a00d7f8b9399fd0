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
// Tests that take one run in parallel, as they wait more than they compute: -test.parallel bounds how many.
package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"muster.dev/muster/e2e/await"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/process"
	"muster.dev/muster/e2e/workload"
)

// Options of a control plane that a test takes. With the zero value pods can be created and no controller runs.
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

// LongUnless is Long for a subtest whose siblings differ in a detail, unless it is the one of them that `make test` runs.
func LongUnless(t *testing.T, short bool) {
	t.Helper()
	if !short {
		Long(t)
	}
}

// Of is the same control plane for a subtest.
func (l *Lab) Of(t *testing.T) *Lab { return l.plane.of(t) }

// Discard stops the control plane with the test. Deleting dozens of definitions, for one, takes longer than starting another.
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

// EventuallyTrue is Eventually for a check that has no more to say.
func (l *Lab) EventuallyTrue(what string, check func() bool) {
	l.Helper()
	l.Eventually(what, func() error {
		if !check() {
			return errors.New("it is not so")
		}
		return nil
	})
}

// EventuallyIs is Eventually for a count.
func (l *Lab) EventuallyIs(what string, want int, count func() int) {
	l.Helper()
	l.Eventually(what, func() error {
		if got := count(); got != want {
			return fmt.Errorf("it is %d, want %d", got, want)
		}
		return nil
	})
}

// Eventually is [Lab.Eventually] for a test without a control plane.
func Eventually(t testing.TB, what string, check func() error) {
	t.Helper()
	if err := await.Until(t.Context(), what, func(context.Context) error { return check() }); err != nil {
		t.Fatal(err)
	}
}

// Schedule runs the stock kube-scheduler with a configuration until the test ends.
func (l *Lab) Schedule(config string) {
	l.Helper()
	l.Must(l.StartScheduler(l.Context(), controlplane.SchedulerOptions{Config: config}))
	l.Cleanup(l.StopScheduler)
}

// Muster runs a muster until the test ends and returns when it is ready. The test fails when it ends by itself, or panics.
func (l *Lab) Muster(o muster.Options) *muster.Server {
	l.Helper()
	server := l.Launch(o)
	l.Must(server.AwaitReady(l.Context()))
	return server
}

// Launch is Muster without waiting.
func (l *Lab) Launch(o muster.Options) *muster.Server {
	l.Helper()
	o.ControlPlane, o.Binary = l.ControlPlane, cmp.Or(o.Binary, Program(l.T))
	o.Name = l.plane.number(cmp.Or(o.Name, "muster"))
	server, err := muster.Launch(l.Context(), o)
	l.Must(err)
	l.Cleanup(func() {
		if err := server.Err(); err != nil {
			l.Error(err)
		}
		server.Stop()
		if panics, err := muster.Panics(server.Log(), 0); len(panics) > 0 || err != nil {
			l.Errorf("muster panicked: %q, %v", panics, err)
		}
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

// labelBarrier is on the pods of barriers.
const labelBarrier = "e2e.muster.dev/barrier"

// Barrier creates a pod that asks for nothing and returns when the scheduler has bound it. Muster and the scheduler handle pods
// in the order in which they come, so they have done by then what they had to do before. The pod stays.
func (l *Lab) Barrier(change ...func(*corev1.Pod)) *corev1.Pod {
	l.Helper()
	pod := workload.NewPod(l.plane.number("barrier"), "0", append(change, workload.Labelled(labelBarrier, ""))...)
	l.Create(pod)
	l.Eventually(pod.Name+" is bound", func() (err error) {
		if pod, err = l.Client.CoreV1().Pods(pod.Namespace).Get(l.Context(), pod.Name, metav1.GetOptions{}); err != nil {
			return err
		}
		if pod.Spec.NodeName == "" {
			return fmt.Errorf("it has no node, gates %v and conditions %v", pod.Spec.SchedulingGates, pod.Status.Conditions)
		}
		return nil
	})
	return pod
}

// IsBarrier tells whether [Lab.Barrier] made a pod.
func IsBarrier(pod *corev1.Pod) bool {
	_, is := pod.Labels[labelBarrier]
	return is
}

// Reschedule runs a rescheduler beside a muster, at an address, until the test ends and returns when it has seen the cluster.
func (l *Lab) Reschedule(beside *muster.Server, o muster.Options, listen string) *muster.Rescheduler {
	l.Helper()
	o.ControlPlane = l.ControlPlane
	rescheduler, err := beside.Reschedule(l.Context(), o, listen)
	l.Must(err)
	l.Cleanup(func() {
		rescheduler.Stop()
		if l.T.Failed() {
			l.Logf("the log of the rescheduler ends with:\n%s", process.Tail(rescheduler.Log()))
		}
	})
	return rescheduler
}

// FreeAddress is one of loopback at which nobody listens.
func FreeAddress(t testing.TB) string {
	t.Helper()
	port, err := process.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}
