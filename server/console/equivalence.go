package console

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"muster.dev/muster/inspect"
	"muster.dev/muster/predicates"
)

// classesPage is the classes whose verdicts are remembered.
type classesPage struct {
	Generation uint64                 `json:"generation"`
	Classes    []predicates.ClassInfo `json:"classes"`
}

func (s *Console) debugEquivalence(*http.Request) (inspect.Answer, error) {
	page := classesPage{Generation: s.options.Cluster.Snapshot().Generation, Classes: []predicates.ClassInfo{}}
	for _, store := range s.options.Profiles.Stores() {
		page.Classes = append(page.Classes, store.Classes()...)
	}
	return page, nil
}

// Text implements [inspect.Answer].
func (p classesPage) Text(t *inspect.Table) {
	t.Title("generation %d", p.Generation)
	t.Row("PROFILE", "CLASS", "FIRST POD", "CONTROLLER", "CALLS", "HITS", "BYTES", "GENERATION", "AGE", "JUDGED", "FITTING")
	for i := range p.Classes {
		c := &p.Classes[i]
		hits := fmt.Sprintf("%.1f%%", 100*float64(c.Hits)/float64(max(c.Calls, 1)))
		t.Row(c.Profile, c.Hash, c.Pod, c.Controller, c.Calls, hits, c.Bytes, c.Generation, duration(c.AgeSeconds), c.Judged, c.Fitting)
	}
}

// classPage shows what is remembered of one class on every node that was asked about.
type classPage struct {
	predicates.ClassInfo
	Nodes []predicates.Remembered `json:"nodes"`
}

func (s *Console) debugClass(r *http.Request) (inspect.Answer, error) {
	class, nodes, err := s.remembered(r)
	if err != nil {
		return nil, err
	}
	return classPage{class, append([]predicates.Remembered{}, nodes...)}, nil
}

// Text implements [inspect.Answer].
func (p classPage) Text(t *inspect.Table) {
	t.Title("%s; pods that were asked about last: %s", about(&p.ClassInfo), strings.Join(p.Pods, ", "))
	t.Row("NODE", "FITS", "FIRST REASON AGAINST IT")
	for _, node := range p.Nodes {
		t.Row(node.Node, node.Fits, node.Reason)
	}
}

// classNodePage shows what each predicate is remembered to say of one class on one node.
type classNodePage struct {
	predicates.ClassInfo
	Node       string                         `json:"node"`
	Predicates []predicates.RememberedVerdict `json:"predicates"`
}

func (s *Console) debugClassNode(r *http.Request) (inspect.Answer, error) {
	class, nodes, err := s.remembered(r)
	if err != nil {
		return nil, err
	}
	name := chi.URLParam(r, "node")
	for _, node := range nodes {
		if node.Node == name {
			return classNodePage{class, name, node.Predicates}, nil
		}
	}
	return nil, inspect.Refuse(http.StatusNotFound, "node: nothing is remembered of a node %q", name)
}

// Text implements [inspect.Answer].
func (p classNodePage) Text(t *inspect.Table) {
	t.Title("%s, node %s", about(&p.ClassInfo), p.Node)
	t.Row("PREDICATE", "VERDICT", "REASONS")
	for _, v := range p.Predicates {
		t.Row(v.Predicate, v.Verdict, strings.Join(v.Reasons, "; "))
	}
}

func about(c *predicates.ClassInfo) string {
	return fmt.Sprintf(
		"profile %s, class %s of pod %s, as of generation %d, %v ago", c.Profile, c.Hash, c.Pod, c.Generation, duration(c.AgeSeconds),
	)
}

// remembered finds the class that the request names.
func (s *Console) remembered(r *http.Request) (predicates.ClassInfo, []predicates.Remembered, error) {
	hash := chi.URLParam(r, "class")
	for _, store := range s.options.Profiles.Stores() {
		if class, nodes, found := store.Class(hash, chi.URLParam(r, "node")); found {
			return class, nodes, nil
		}
	}
	return predicates.ClassInfo{}, nil, inspect.Refuse(
		http.StatusNotFound, "class: none of hash %q is remembered; /debug/equivalence lists the remembered ones", hash,
	)
}

// seconds is how durations are told to programs, to the millisecond.
func seconds(d time.Duration) float64 { return d.Round(time.Millisecond).Seconds() }

// duration is the duration that seconds told.
func duration(seconds float64) time.Duration {
	return time.Duration(seconds * float64(time.Second)).Round(time.Millisecond)
}
