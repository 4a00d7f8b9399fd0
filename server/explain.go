package server

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// debugExplain says for a pod what its profile says of every node. The pod is one of
// the cluster, as in ?pod=namespace/name, or one that is posted as YAML or JSON.
func (s *Server) debugExplain(w http.ResponseWriter, r *http.Request) {
	pod, err := s.podToExplain(r)
	if err != nil {
		status := http.StatusBadRequest
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
			status = http.StatusRequestEntityTooLarge
		}
		http.Error(w, err.Error(), status)
		return
	}
	if pod == nil {
		http.Error(w, fmt.Sprintf("pod: no pod %q in the view of the cluster", r.URL.Query().Get("pod")), http.StatusNotFound)
		return
	}
	store, err := s.extender.store(pod.Spec.SchedulerName)
	if err != nil {
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		return
	}
	snap := s.cluster.Snapshot()
	explanations := store.Profile.Explain(pod, snap)
	slices.SortStableFunc(explanations, func(a, b predicates.Explanation) int {
		if len(a.Against) != len(b.Against) {
			return len(a.Against) - len(b.Against)
		}
		return int(b.Total - a.Total)
	})
	fitting := 0
	for _, e := range explanations {
		if len(e.Against) == 0 {
			fitting++
		}
	}
	title := fmt.Sprintf("pod %s/%s, profile %s, generation %d: %d of %d nodes fit",
		pod.Namespace, pod.Name, store.Profile.Name, snap.Generation, fitting, len(explanations)) + s.planned(pod)
	s.writeExplanations(w, title, explanations)
}

func (s *Server) podToExplain(r *http.Request) (*cluster.Pod, error) {
	if r.Method == http.MethodPost {
		body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, s.config.Serving.MaxBodyBytes))
		if err != nil {
			return nil, err
		}
		return s.postedPod(body)
	}
	asked := r.URL.Query().Get("pod")
	namespace, name, found := strings.Cut(asked, "/")
	if !found {
		return nil, fmt.Errorf("pod: %q is no pod: name one, as in ?pod=namespace/name, or post one", asked)
	}
	return s.cluster.FindPod(types.NamespacedName{Namespace: namespace, Name: name}), nil
}

// postedPod reads a pod as somebody would apply it. Of what the API server would fill in,
// it fills in the namespace, and requests that follow from limits.
func (s *Server) postedPod(body []byte) (*cluster.Pod, error) {
	object := &corev1.Pod{}
	if err := yaml.UnmarshalStrict(body, object); err != nil {
		return nil, fmt.Errorf("the posted pod: %w", err)
	}
	if object.Kind != "" && object.Kind != "Pod" {
		return nil, fmt.Errorf("the posted pod: kind: %q is not Pod", object.Kind)
	}
	object.Namespace = cmp.Or(object.Namespace, metav1.NamespaceDefault)
	for _, containers := range [][]corev1.Container{object.Spec.InitContainers, object.Spec.Containers} {
		for i := range containers {
			resources := &containers[i].Resources
			for name, limit := range resources.Limits {
				if _, asked := resources.Requests[name]; asked {
					continue
				}
				if resources.Requests == nil {
					resources.Requests = corev1.ResourceList{}
				}
				resources.Requests[name] = limit
			}
		}
	}
	return s.cluster.ResourceNames().NewPod(object), nil
}

func (s *Server) writeExplanations(w http.ResponseWriter, title string, explanations []predicates.Explanation) {
	t := newTable(w, title)
	defer t.flush()
	header := []any{"NODE", "FITS", "TOTAL"}
	unscored := []any{}
	if len(explanations) > 0 {
		for _, part := range explanations[0].Scores {
			header, unscored = append(header, fmt.Sprintf("%s×%d", part.Name, part.Weight)), append(unscored, "-")
		}
	}
	t.row(append(header, "AGAINST")...)
	for _, e := range explanations {
		cells := []any{e.Node.Name, len(e.Against) == 0}
		if len(e.Against) == 0 {
			cells = append(cells, e.Total)
			for _, part := range e.Scores {
				cells = append(cells, part.Score)
			}
		} else {
			cells = append(append(cells, "-"), unscored...)
		}
		var against []string
		for _, objection := range e.Against {
			against = append(against, objection.Predicate+": "+objection.Reason)
		}
		t.row(append(cells, strings.Join(against, "; "))...)
	}
}

// debugPredicates lists what each plugin declares to read: the invalidation matrix.
func (s *Server) debugPredicates(w http.ResponseWriter, _ *http.Request) {
	t := newTable(w, "A verdict on a node is evaluated anew when one of these changes, or when the node is added.")
	defer t.flush()
	t.row("PROFILE", "PLUGIN", "KIND", "CHANGES")
	for _, store := range s.extender.profiles.Stores() {
		for _, d := range store.Profile.Dependencies() {
			t.row(store.Profile.Name, d.Plugin, d.Kind, d.Aspects)
		}
	}
}
