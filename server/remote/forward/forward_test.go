package forward_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/server/remote/forward"
)

// patience is for what must happen: it bounds a failure, and no test waits for it to pass.
const patience = 2 * time.Minute

// way is to a process of the cluster.
func (c *cluster) way(change ...func(*forward.Options)) *forward.Forward {
	c.Helper()
	options := forward.Options{Cluster: c.found(), Process: forward.Muster()}
	for _, apply := range change {
		apply(&options)
	}
	way, err := forward.New(options)
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(way.Close)
	return way
}

// get asks through a way, and returns the answer.
func get(ctx context.Context, dial forward.DialFunc, body string) (string, error) {
	client := http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1/", strings.NewReader(body))
	if err != nil {
		return "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	return string(answer), err
}

// answers fails unless the way leads to what answers with a text.
func (c *cluster) answers(way *forward.Forward, want string) {
	c.Helper()
	if got, err := get(c.Context(), way.Dial, "!"); err != nil || got != want+" 127.0.0.1!" {
		c.Errorf("answered %q, error %v, want %q", got, err, want)
	}
}

// leadsNowhere fails unless it does not lead anywhere, for these reasons.
func (c *cluster) leadsNowhere(way *forward.Forward, wants ...string) {
	c.Helper()
	got, err := get(c.Context(), way.Dial, "")
	if err == nil {
		c.Fatalf("answered %q", got)
	}
	for _, want := range wants {
		if !strings.Contains(err.Error(), want) {
			c.Errorf("%q does not say %q", err, want)
		}
	}
}

func notReady(p *corev1.Pod) { p.Status.Conditions = nil }

func inPhase(phase corev1.PodPhase) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.Phase = phase }
}

func ofInstance(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Labels["app.kubernetes.io/instance"] = name }
}

func TestAPodThatIsReadyIsAsked(t *testing.T) {
	c := newCluster(t)
	c.run("kube-system", "a-standby", notReady)
	c.run("kube-system", "b-leader")
	c.run("kube-system", "a-gone", func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} })
	c.run("kube-system", "a-ended", inPhase(corev1.PodSucceeded))
	for _, pod := range []string{"a-standby", "b-leader", "a-gone", "a-ended"} {
		c.listen("kube-system/"+pod+":8887", pod)
	}
	way := c.way()
	if got := way.String(); got != "the muster of context here" {
		t.Errorf("before it is asked it is called %q", got)
	}
	c.answers(way, "b-leader")
	c.answers(way, "b-leader")
	if got := way.String(); got != "pod kube-system/b-leader, port 8887, context here" {
		t.Errorf("it is called %q", got)
	}
	if c.upgrades != 1 {
		t.Errorf("%d connections for two questions", c.upgrades)
	}
}

func TestThePortIsTheOneWhoseNameSaysSo(t *testing.T) {
	c := newCluster(t)
	c.run("kube-system", "a", func(p *corev1.Pod) {
		p.Spec.Containers[0].Ports = []corev1.ContainerPort{{Name: "http", ContainerPort: 8887}, {Name: "debug", ContainerPort: 9000}}
	})
	c.listen("kube-system/a:9000", "debug")
	c.answers(c.way(), "debug")
}

func TestAPodThatIsNotReadyIsBetterThanNone(t *testing.T) {
	c := newCluster(t)
	c.run("kube-system", "standby", notReady)
	c.listen("kube-system/standby:8887", "standby")
	c.answers(c.way(), "standby")
}

func TestOfSeveralThatAreReadyTheOneThatLeadsIsAsked(t *testing.T) {
	c := newCluster(t)
	for _, pod := range []string{"a", "b", "c"} {
		c.run("kube-system", pod)
		c.listen("kube-system/"+pod+":8887", pod)
	}
	leads := func(leader string) func(*forward.Options) {
		return func(o *forward.Options) {
			o.Leads = func(ctx context.Context, dial forward.DialFunc) bool {
				answer, err := get(ctx, dial, "")
				return err == nil && strings.HasPrefix(answer, leader+" ")
			}
		}
	}
	c.answers(c.way(leads("b")), "b")
	c.answers(c.way(leads("none")), "a")
}

func TestALostConnectionIsMadeAnew(t *testing.T) {
	c := newCluster(t)
	c.run("kube-system", "a")
	c.listen("kube-system/a:8887", "a")
	way := c.way()
	c.answers(way, "a")
	c.mu.Lock()
	c.pods = nil
	c.mu.Unlock()
	c.run("kube-system", "b")
	c.listen("kube-system/b:8887", "b")
	c.cut()
	deadline := time.Now().Add(patience)
	for {
		got, err := get(t.Context(), way.Dial, "")
		if err == nil && strings.HasPrefix(got, "b ") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("answered %q, error %v", got, err)
		}
	}
	way.Close()
	c.answers(way, "b")
}

func TestManyMayAskAtTheSameTime(t *testing.T) {
	c := newCluster(t)
	c.run("kube-system", "a")
	c.listen("kube-system/a:8887", "a")
	way := c.way()
	var asking sync.WaitGroup
	for range 20 {
		asking.Go(func() { c.answers(way, "a") })
	}
	asking.Wait()
}

func TestTheReschedulerIsInMustersPodOrInOneOfItsOwn(t *testing.T) {
	rescheduler := func(o *forward.Options) { o.Process = forward.Rescheduler() }
	beside := newCluster(t)
	beside.run("kube-system", "pair", func(p *corev1.Pod) {
		p.Spec.InitContainers = []corev1.Container{{Name: "muster"}, {Name: "rescheduler", Ports: []corev1.ContainerPort{
			{Name: "other", ContainerPort: 1}, {Name: "rescheduler", ContainerPort: 9889},
		}}}
		p.Spec.Containers[0].Name = "kube-scheduler"
	})
	beside.listen("kube-system/pair:9889", "beside")
	beside.answers(beside.way(rescheduler), "beside")

	apart := newCluster(t)
	apart.run("kube-system", "muster")
	apart.run("kube-system", "rescheduler", func(p *corev1.Pod) {
		p.Labels["app.kubernetes.io/name"], p.Spec.Containers[0].Name = "muster-rescheduler", "rescheduler"
	})
	apart.listen("kube-system/rescheduler:8889", "apart")
	apart.answers(apart.way(rescheduler), "apart")

	without := newCluster(t)
	without.run("kube-system", "muster")
	without.leadsNowhere(
		without.way(rescheduler),
		"no pod in any namespace has the labels app.kubernetes.io/name in (muster, muster-rescheduler) "+
			"and a container rescheduler",
	)
}

// What is documented installs muster in pods of these labels.
func TestMusterIsFoundWhereItWasInstalled(t *testing.T) {
	labelled := func(labels map[string]string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Labels = labels }
	}
	sidecar := func(p *corev1.Pod) {
		p.Spec.InitContainers = []corev1.Container{{Name: "muster", Ports: []corev1.ContainerPort{{Name: "debug", ContainerPort: 8887}}}}
		p.Spec.Containers[0].Name = "kube-scheduler"
	}
	former := map[string]string{"component": "muster", "tier": "control-plane"}
	now := map[string]string{"app.kubernetes.io/name": "muster", "component": "muster", "tier": "control-plane"}
	for name, change := range map[string][]func(*corev1.Pod){
		"by the chart, for itself":                nil,
		"by the chart, beside its kube-scheduler": {sidecar},
		"as a static pod":                         {labelled(now)},
		"as a static pod of before":               {labelled(former)},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			c.run("kube-system", "there", change...)
			c.listen("kube-system/there:8887", "there")
			c.answers(c.way(), "there")
		})
	}
}

func TestWhoMayNotListPodsEverywhereFindsMusterInKubeSystem(t *testing.T) {
	c := newCluster(t)
	c.run("kube-system", "a")
	c.listen("kube-system/a:8887", "a")
	c.may = func(r *http.Request) bool { return r.URL.Path != "/api/v1/pods" }
	c.answers(c.way(), "a")
	c.pods[0].Namespace = "elsewhere"
	c.leadsNowhere(c.way(), "no pod in namespace kube-system (you may not list pods in all namespaces) has the labels", "--muster-namespace")
	c.listen("elsewhere/a:8887", "elsewhere")
	c.answers(c.way(func(o *forward.Options) { o.Namespace = "elsewhere" }), "elsewhere")
}

func TestErrorsTeach(t *testing.T) {
	for name, test := range map[string]struct {
		change    func(*cluster)
		namespace string
		wants     []string
	}{
		"no pod": {func(*cluster) {}, "", []string{
			"no pod in any namespace has the labels app.kubernetes.io/name=muster and a container muster", "--muster-namespace",
		}},
		"no pod in the namespace": {func(c *cluster) { c.run("other", "a") }, "team", []string{"no pod in namespace team has"}},
		"labels of muster on something else": {
			func(c *cluster) { c.run("team", "a", func(p *corev1.Pod) { p.Spec.Containers[0].Name = "web" }) }, "",
			[]string{"no pod in any namespace"},
		},
		"none runs": {
			func(c *cluster) {
				c.run("team", "a", inPhase(corev1.PodPending))
				c.run("team", "b", func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} })
			}, "",
			[]string{"no pod of the muster runs: team/a is Pending, team/b is being deleted"},
		},
		"two namespaces": {
			func(c *cluster) { c.run("team-b", "a"); c.run("team-a", "b") }, "",
			[]string{"the muster runs in several namespaces: choose one with --muster-namespace: team-a, team-b"},
		},
		"two installations": {
			func(c *cluster) { c.run("team", "a", ofInstance("two")); c.run("team", "b", ofInstance("one")) }, "",
			[]string{"namespace team has several installations of muster, with the labels app.kubernetes.io/instance=one and two", "--server"},
		},
		"may list no pods": {func(c *cluster) { c.may = func(*http.Request) bool { return false } }, "", []string{
			"find the muster: you may list pods neither in all namespaces nor in kube-system", "verb list on pods", `User "u"`,
		}},
		"may list no pods there": {func(c *cluster) { c.may = func(*http.Request) bool { return false } }, "team", []string{
			"find the muster: you may not list pods in namespace team: ",
		}},
		"may not forward": {
			func(c *cluster) {
				c.run("team", "a")
				c.may = func(r *http.Request) bool { return !strings.HasSuffix(r.URL.Path, "portforward") }
			}, "",
			[]string{
				"pod team/a, port 8887: you may not forward ports to it: ", `User "u"`,
				"it takes the verb create on pods/portforward: 'kubectl auth can-i create pods/portforward -n team'",
			},
		},
		"nothing listens in the pod": {func(c *cluster) { c.run("team", "a") }, "", []string{
			"pod team/a, port 8887: nothing listens there: debug.listen is empty",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			test.change(c)
			c.leadsNowhere(c.way(func(o *forward.Options) { o.Namespace = test.namespace }), test.wants...)
		})
	}
}

func TestWhoAsksMayGiveUp(t *testing.T) {
	c := newCluster(t)
	c.run("team", "a")
	release := make(chan struct{})
	c.may = func(r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "portforward") {
			<-release
		}
		return true
	}
	t.Cleanup(func() { close(release) })
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := c.way().Dial(ctx, "", ""); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want one of the deadline", err)
	}
}

func TestAReaderReturnsWhenTheConnectionIsClosed(t *testing.T) {
	c := newCluster(t)
	c.run("team", "a")
	listener, err := net.Listen("tcp", "127.0.0.1:0") // it accepts, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	c.backends["team/a:8887"] = listener.Addr().String()
	connection, err := c.way().Dial(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		_, err := connection.Read(make([]byte, 1))
		done <- err
	}()
	if err := connection.Close(); err != nil {
		t.Error(err)
	}
	select {
	case err := <-done:
		if err == nil {
			t.Error("it has read something")
		}
	case <-time.After(patience):
		t.Error("it reads on")
	}
}
