package explanation_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang"
	"muster.dev/muster/gang/record"
	"muster.dev/muster/inspect"
	"muster.dev/muster/placement/nomination"
	"muster.dev/muster/predicates"
	"muster.dev/muster/rescheduler/reservation"
	"muster.dev/muster/server/app"
	"muster.dev/muster/server/body"
	"muster.dev/muster/server/explanation"
	"muster.dev/muster/server/extender"
	"muster.dev/muster/server/servertest"
)

// lab is a muster in which a situation has come about: the verbs answer, and pods and gangs are explained.
type lab struct {
	testing.TB
	clock     *clocktesting.FakeClock
	cluster   *cluster.Cluster
	profiles  *predicates.Profiles
	gangs     *gang.Manager
	verbs     http.Handler
	explainer *explanation.Explainer
	nodes     []string
	pods      map[types.UID]*corev1.Pod // as they were last shown
}

// asked and unasked say whether kube-scheduler has asked about pods of the situation.
const (
	asked   = true
	unasked = false
)

// newLab returns a muster with a situation.
func newLab(t testing.TB, cfg map[config.NodeSelection]*config.Configuration, s *situation, asked bool) *lab {
	log, registry := slog.New(slog.DiscardHandler), prometheus.NewRegistry()
	clock := clocktesting.NewFakeClock(began) // timers go with it
	c := cluster.New(cluster.Options{Logger: log, Registerer: registry, AssumeTTL: time.Hour, Clock: clock})
	profiles, err := app.NewProfiles(app.ProfileOptions{Registerer: registry, Cluster: c, Config: cfg[s.selection]})
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{TB: t, clock: clock, cluster: c, profiles: profiles.InForce(), pods: map[types.UID]*corev1.Pod{}}
	kept := reservation.New(reservation.Options{Logger: log, Clock: l.clock, Cluster: c, Profiles: l.profiles})
	l.gangs = gang.New(gang.Options{
		Logger: log, Registerer: registry, Clock: l.clock, Cluster: c, Profiles: l.profiles,
		Limits: gang.DefaultLimits(30*time.Second, 5*time.Second, time.Minute),
		Writer: nomination.NewWriter(log, registry, l.clock, nomination.DefaultWriteLimits(500)),
		Epoch:  func() record.Epoch { return record.Epoch{} }, Reservations: kept,
	})
	l.gangs.Follow()
	l.verbs = inspect.Router(extender.New(extender.Options{
		Logger: log, Registerer: registry, Cluster: c, Profiles: l.profiles, BindTime: time.Minute, Gangs: l.gangs.Verbs, Reservations: kept,
		Bodies: body.NewReaders(registry, body.DefaultLimits(time.Minute)), Ready: func() error { return nil }, Pick: func(int) int { return 0 },
	}).Endpoints()...)
	l.explainer = &explanation.Explainer{
		Cluster: c, Profiles: l.profiles, Members: l.gangs.Observer, Serving: func() error { return nil },
	}
	for _, node := range s.nodes {
		l.join(node)
	}
	for _, pod := range s.pods {
		l.show(pod)
	}
	if asked {
		for _, at := range s.asked {
			if pod := s.pods[at]; tried(pod) {
				l.filter(pod, l.nodes...)
			}
		}
	}
	for _, change := range s.changes {
		switch {
		case change.node != nil:
			l.join(change.node)
		case change.to == nil:
			l.goes(s.pods[change.pod])
		case l.pods[change.to.UID] != nil:
			l.show(change.to)
		}
	}
	return l
}

func (l *lab) join(node *corev1.Node) {
	if err := l.cluster.Set(node.DeepCopy()); err != nil {
		l.Fatal(err)
	}
	if !slices.Contains(l.nodes, node.Name) {
		l.nodes = append(l.nodes, node.Name)
	}
}

func (l *lab) show(pod *corev1.Pod) {
	if err := l.cluster.Set(pod.DeepCopy()); err != nil {
		l.Fatal(err)
	}
	l.pods[pod.UID] = pod
}

func (l *lab) goes(pod *corev1.Pod) {
	if err := l.cluster.Delete(pod.DeepCopy()); err != nil {
		l.Fatal(err)
	}
	delete(l.pods, pod.UID)
}

// filter asks which of some nodes a pod may go to.
func (l *lab) filter(pod *corev1.Pod, nodes ...string) (offered []string, failed map[string]string) {
	l.Helper()
	asked, err := json.Marshal(extenderv1.ExtenderArgs{Pod: pod, NodeNames: &nodes})
	if err != nil {
		l.Fatal(err)
	}
	request := httptest.NewRequestWithContext(l.Context(), http.MethodPost, "/filter", bytes.NewReader(asked))
	request.Header.Set("Content-Type", "application/json")
	response := httptest.NewRecorder()
	l.verbs.ServeHTTP(response, request)
	var answer extenderv1.ExtenderFilterResult
	if err := json.Unmarshal(response.Body.Bytes(), &answer); err != nil || answer.Error != "" {
		l.Fatalf("filter answered %s: %v", response.Body, err)
	}
	if answer.NodeNames != nil {
		offered = *answer.NodeNames
	}
	return offered, answer.FailedNodes
}

// explain explains a pod of the cluster.
func (l *lab) explain(pod *corev1.Pod) *explanation.Pod {
	found := l.cluster.FindPod(types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name})
	if found == nil {
		l.Fatalf("there is no pod %s", pod.Name)
	}
	told, err := l.explainer.Pod(found)
	if err != nil {
		l.Fatal(err)
	}
	return told
}

// gang explains a gang, nil when there is none.
func (l *lab) gang(name string) *explanation.Gang {
	if all := l.explainer.Gangs(types.NamespacedName{Namespace: "default", Name: name}).Gangs; len(all) > 0 {
		return &all[0]
	}
	return nil
}

// gangNames returns the names of the gangs that pods are of.
func (l *lab) gangNames() (names []string) {
	for _, pod := range l.pods {
		if name := pod.Labels[v1alpha1.LabelMuster]; name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// tried reports whether kube-scheduler would try a pod.
func tried(pod *corev1.Pod) bool {
	return pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil && len(pod.Spec.SchedulingGates) == 0
}

// waiting returns the pods that kube-scheduler would try, in the order of their names: members of a gang, or of none.
func (l *lab) waiting(of string) (pods []*corev1.Pod) {
	for _, pod := range l.pods {
		if pod.Labels[v1alpha1.LabelMuster] == of && tried(pod) {
			pods = append(pods, pod)
		}
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return bytes.Compare([]byte(a.Name), []byte(b.Name)) })
	return pods
}

// configurations returns one for each way to choose nodes.
func configurations(t testing.TB) map[config.NodeSelection]*config.Configuration {
	all := map[config.NodeSelection]*config.Configuration{}
	for _, selection := range []config.NodeSelection{config.NodeSelectionScheduler, config.NodeSelectionMuster} {
		all[selection] = servertest.Config(t, "", selection)
	}
	return all
}
