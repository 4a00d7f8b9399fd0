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
	Generation uint64     `json:"generation"`
	Classes    []classRow `json:"classes"`
}

// classRow is a class of pods.
type classRow struct {
	Profile    string `json:"profile"`
	Class      string `json:"class"`
	FirstPod   string `json:"firstPod"`
	Controller string `json:"controller"`
	Calls      int    `json:"calls"`
	Hits       int    `json:"hits"` // calls that found it remembered
	Bytes      int64  `json:"bytes"`
	// Generation names the snapshot of the last call about the class, and AgeSeconds says how long ago that was. Judged
	// counts the nodes that the class is judged on, and Fitting those where it fits.
	Generation uint64  `json:"generation"`
	AgeSeconds float64 `json:"ageSeconds"`
	Judged     int     `json:"judged"`
	Fitting    int     `json:"fitting"`
}

func newClassRow(store *predicates.VerdictStore, c *predicates.ClassInfo) classRow {
	return classRow{
		Profile: store.Profile.Name, Class: c.Hash, FirstPod: c.Pod, Controller: c.Controller, Calls: c.Calls, Hits: c.Calls - c.Misses,
		Bytes: c.Bytes, Generation: c.Generation, AgeSeconds: seconds(c.Age), Judged: c.Judged, Fitting: c.Fitting,
	}
}

func (s *Console) debugEquivalence(*http.Request) (inspect.Answer, error) {
	page := classesPage{Generation: s.options.Cluster.Snapshot().Generation, Classes: []classRow{}}
	for _, store := range s.options.Profiles.Stores() {
		for _, c := range store.Classes() {
			page.Classes = append(page.Classes, newClassRow(store, &c))
		}
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
		t.Row(c.Profile, c.Class, c.FirstPod, c.Controller, c.Calls, hits, c.Bytes, c.Generation, duration(c.AgeSeconds), c.Judged, c.Fitting)
	}
}

// classPage shows what is remembered of one class on every node that was asked about.
type classPage struct {
	classRow
	// Pods are some of the class: the last ones that were asked about, the latest first.
	Pods  []string      `json:"pods"`
	Nodes []classOnNode `json:"nodes"`
}

type classOnNode struct {
	Node   string `json:"node"`
	Fits   bool   `json:"fits"`
	Reason string `json:"reason,omitempty"` // of the first predicate against it
}

func (s *Console) debugClass(r *http.Request) (inspect.Answer, error) {
	class, pods, nodes, err := s.remembered(r)
	if err != nil {
		return nil, err
	}
	page := classPage{classRow: class, Pods: pods, Nodes: []classOnNode{}}
	for _, node := range nodes {
		page.Nodes = append(page.Nodes, classOnNode{node.Node, node.Reason == "", node.Reason})
	}
	return page, nil
}

// Text implements [inspect.Answer].
func (p classPage) Text(t *inspect.Table) {
	t.Title("%s; pods that were asked about last: %s", p.about(), strings.Join(p.Pods, ", "))
	t.Row("NODE", "FITS", "FIRST REASON AGAINST IT")
	for _, node := range p.Nodes {
		t.Row(node.Node, node.Fits, node.Reason)
	}
}

// classNodePage shows what each predicate is remembered to say of one class on one node.
type classNodePage struct {
	classRow
	Node       string               `json:"node"`
	Predicates []verdictOfPredicate `json:"predicates"`
}

type verdictOfPredicate struct {
	Predicate string `json:"predicate"`
	Verdict   string `json:"verdict"` // fits, against or not concerned
	// Reasons are all that are known: the first one of the first predicate, and the others while nothing has changed.
	Reasons []string `json:"reasons,omitempty"`
}

func (s *Console) debugClassNode(r *http.Request) (inspect.Answer, error) {
	class, _, nodes, err := s.remembered(r)
	if err != nil {
		return nil, err
	}
	name := chi.URLParam(r, "node")
	for _, node := range nodes {
		if node.Node != name {
			continue
		}
		page := classNodePage{classRow: class, Node: name, Predicates: []verdictOfPredicate{}}
		for _, v := range node.Predicates {
			verdict := "against"
			switch {
			case !v.Concerned:
				verdict = "not concerned"
			case v.Fits:
				verdict = "fits"
			}
			page.Predicates = append(page.Predicates, verdictOfPredicate{v.Predicate, verdict, v.Reasons})
		}
		return page, nil
	}
	return nil, inspect.Refuse(http.StatusNotFound, "node: nothing is remembered of a node %q", name)
}

// Text implements [inspect.Answer].
func (p classNodePage) Text(t *inspect.Table) {
	t.Title("%s, node %s", p.about(), p.Node)
	t.Row("PREDICATE", "VERDICT", "REASONS")
	for _, v := range p.Predicates {
		t.Row(v.Predicate, v.Verdict, strings.Join(v.Reasons, "; "))
	}
}

func (c *classRow) about() string {
	return fmt.Sprintf(
		"profile %s, class %s of pod %s, as of generation %d, %v ago", c.Profile, c.Class, c.FirstPod, c.Generation, duration(c.AgeSeconds),
	)
}

// remembered finds the class that the request names, and some of its pods.
func (s *Console) remembered(r *http.Request) (row classRow, pods []string, nodes []predicates.Remembered, err error) {
	hash := chi.URLParam(r, "class")
	for _, store := range s.options.Profiles.Stores() {
		if class, nodes, found := store.Class(hash, chi.URLParam(r, "node")); found {
			return newClassRow(store, &class), class.Pods, nodes, nil
		}
	}
	return classRow{}, nil, nil, inspect.Refuse(
		http.StatusNotFound, "class: none of hash %q is remembered; /debug/equivalence lists the remembered ones", hash,
	)
}

// seconds is how durations are told to programs, to the millisecond.
func seconds(d time.Duration) float64 { return d.Round(time.Millisecond).Seconds() }

// duration is the duration that seconds told.
func duration(seconds float64) time.Duration {
	return time.Duration(seconds * float64(time.Second)).Round(time.Millisecond)
}
