package console

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/cluster"
	"muster.dev/muster/inspect"
	"muster.dev/muster/server/app"
	"muster.dev/muster/server/explanation"
)

// explainPage shows the verdict of a pod's profile on every node.
type explainPage struct{ *explanation.Pod }

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
	told, err := s.explainer.Pod(pod)
	if err != nil && r.Method == http.MethodPost {
		return nil, inspect.Refuse(http.StatusUnprocessableEntity, "%v", err)
	}
	return explainPage{told}, nil
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
		t.Title("pod %s: %s", p.Pod.Pod, p.NoProfile)
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
		p.Pod.Pod, p.Profile, class, p.Generation, p.Fitting, len(p.Nodes), nomination,
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
