package console

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/inspect"
	"muster.dev/muster/server/app"
	"muster.dev/muster/server/remote"
)

// explainPage shows the verdict of a pod's profile on every node.
type explainPage struct{ *remote.Explanation }

// debugExplain says for a pod what its profile says of every node. The pod is one of
// the cluster, as in ?pod=namespace/name, or one that is posted as YAML or JSON.
func (s *Console) debugExplain(r *http.Request) (inspect.Answer, error) {
	if !s.options.Readiness.Synced() {
		return nil, inspect.Refuse(http.StatusServiceUnavailable, "%v", app.ErrNotSynced)
	}
	pod, err := s.podToExplain(r)
	if err != nil {
		return nil, err
	}
	told := s.stateOf(pod)
	store, err := s.options.Profiles.Named(pod.Spec.SchedulerName)
	if err != nil {
		if r.Method == http.MethodPost {
			return nil, inspect.Refuse(http.StatusUnprocessableEntity, "%v", err)
		}
		told.NoProfile = err.Error()
		if pod.Spec.SchedulerName == corev1.DefaultSchedulerName {
			told.NoProfile += "; a pod that names none gets another one only as it is created, by the label " + v1alpha1.LabelScheduler +
				" of its namespace or by its kind (profiles[].defaultFor)"
		}
		told.Summary = told.State()
		return explainPage{told}, nil
	}
	snap := s.options.Cluster.Snapshot()
	told.Profile, told.Class, told.Generation = store.Profile.Name, store.HashOf(pod), snap.Generation
	for _, e := range store.Profile.Explain(pod, snap) {
		fits := len(e.Against) == 0
		if fits {
			told.Fitting++
		}
		told.Nodes = append(told.Nodes, remote.Node{Node: e.Node.Name, Fits: fits, Total: e.Total, Scores: e.Scores, Against: e.Against})
	}
	slices.SortStableFunc(told.Nodes, func(a, b remote.Node) int {
		return cmp.Or(cmp.Compare(len(a.Against), len(b.Against)), cmp.Compare(b.Total, a.Total))
	})
	told.Summary = told.State()
	return explainPage{told}, nil
}

// stateOf is where a pod is, and what it waits for.
func (s *Console) stateOf(pod *cluster.Pod) *remote.Explanation {
	told := &remote.Explanation{
		Pod:        pod.FullName(),
		Bound:      pod.Spec.NodeName,
		Nomination: s.planned(pod),
		Member:     membership.Tell(pod),
		Ignored:    membership.Ignored(pod),
		Gang:       s.membership(pod),
		Nodes:      []remote.Node{},
	}
	for _, gate := range pod.Spec.SchedulingGates {
		told.Gates = append(told.Gates, gate.Name)
	}
	if told.Bound == "" && pod.UID != "" {
		told.Counts = s.options.Cluster.PlaceOf(pod.UID)
	}
	if err := s.options.Readiness.Serving(); err != nil {
		told.Standby = err.Error()
	}
	return told
}

// membership is a pod as a member of a gang, nil for one that is of none.
func (s *Console) membership(pod *cluster.Pod) *remote.Membership {
	if s.options.Gangs == nil {
		return nil
	}
	of, m, found := s.options.Gangs.Member(pod.UID)
	if !found {
		return nil
	}
	return &remote.Membership{Gang: of.Name, Stage: m.Stage, Node: m.Node, Room: m.Room, Why: of.Why, Note: of.Note}
}

// podToExplain is the pod that is posted, or that the request names.
func (s *Console) podToExplain(r *http.Request) (*cluster.Pod, error) {
	if r.Method == http.MethodPost {
		return s.postedPod(r)
	}
	asked := r.URL.Query().Get("pod")
	namespace, name, found := strings.Cut(asked, "/")
	if !found {
		return nil, inspect.Refuse(http.StatusBadRequest, "pod: %q is no pod: name one, as in ?pod=namespace/name, or post one", asked)
	}
	pod := s.options.Cluster.FindPod(types.NamespacedName{Namespace: namespace, Name: name})
	if pod == nil {
		return nil, inspect.Refuse(http.StatusNotFound, "pod: no pod %q in the view of the cluster", asked)
	}
	return pod, nil
}

// Text implements [inspect.Answer].
func (p explainPage) Text(t *inspect.Table) {
	nomination := ""
	if p.NoProfile != "" {
		t.Title("pod %s: %s", p.Pod, p.NoProfile)
		return
	}
	if n := p.Nomination; n != nil {
		nomination = fmt.Sprintf("; nomination: %s for %v, node %s, attempt %d", n.Stage, duration(n.AgeSeconds), cmp.Or(n.Node, "-"), n.Attempt)
	}
	class := "no class"
	if p.Class != "" {
		class = "class " + p.Class
	}
	t.Title(
		"pod %s, profile %s, %s, generation %d: %d of %d nodes fit%s",
		p.Pod, p.Profile, class, p.Generation, p.Fitting, len(p.Nodes), nomination,
	)
	if len(p.Gates) > 0 {
		t.Title("it %s", p.State())
	}
	p.Table(t, p.Nodes)
}

// matrixPage shows what each plugin declares to read: the invalidation matrix.
type matrixPage struct {
	Plugins []matrixRow `json:"plugins"`
}

type matrixRow struct {
	Profile string   `json:"profile"`
	Plugin  string   `json:"plugin"`
	Kind    string   `json:"kind"` // predicate or score
	Changes []string `json:"changes"`
}

func (s *Console) debugPredicates(*http.Request) (inspect.Answer, error) {
	page := matrixPage{Plugins: []matrixRow{}}
	for _, store := range s.options.Profiles.Stores() {
		for _, d := range store.Profile.Dependencies() {
			changes := strings.FieldsFunc(d.Aspects.String(), func(r rune) bool { return r == ',' })
			page.Plugins = append(page.Plugins, matrixRow{store.Profile.Name, d.Plugin, d.Kind, changes})
		}
	}
	return page, nil
}

// Text implements [inspect.Answer].
func (p matrixPage) Text(t *inspect.Table) {
	t.Title("A verdict on a node is evaluated again when one of these changes, or when the node is added.")
	t.Row("PROFILE", "PLUGIN", "KIND", "CHANGES")
	for _, row := range p.Plugins {
		t.Row(row.Profile, row.Plugin, row.Kind, strings.Join(row.Changes, ","))
	}
}
