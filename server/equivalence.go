package server

import (
	"fmt"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"muster.dev/muster/predicates"
)

// debugEquivalence lists the classes whose verdicts are remembered.
func (s *Server) debugEquivalence(w http.ResponseWriter, _ *http.Request) {
	t := newTable(w, fmt.Sprintf("generation %d", s.cluster.Snapshot().Generation))
	defer t.flush()
	t.row("PROFILE", "CLASS", "FIRST POD", "CONTROLLER", "CALLS", "HITS", "BYTES", "GENERATION", "AGE", "FITTING")
	for _, store := range s.extender.profiles.Stores() {
		for _, c := range store.Classes() {
			t.row(store.Profile.Name, c.Hash, c.Pod, c.Controller, c.Calls, hitRate(c), c.Bytes, c.Generation, c.Age.Round(time.Millisecond), c.Fitting)
		}
	}
}

// hitRate is how many of the calls found the class remembered.
func hitRate(c predicates.ClassInfo) string {
	return fmt.Sprintf("%.1f%%", 100*float64(c.Calls-c.Misses)/float64(max(c.Calls, 1)))
}

// debugClass lists what is remembered of one class on every node.
func (s *Server) debugClass(w http.ResponseWriter, r *http.Request) {
	store, class, nodes := s.remembered(w, r)
	if store == nil {
		return
	}
	t := newTable(w, aboutClass(store, class))
	defer t.flush()
	t.row("NODE", "FITS", "FIRST REASON AGAINST IT")
	for _, node := range nodes {
		t.row(node.Node, node.Reason == "", node.Reason)
	}
}

// debugClassNode lists what each predicate is remembered to say of one class on one
// node.
func (s *Server) debugClassNode(w http.ResponseWriter, r *http.Request) {
	store, class, nodes := s.remembered(w, r)
	if store == nil {
		return
	}
	for _, node := range nodes {
		if node.Node != chi.URLParam(r, "node") {
			continue
		}
		t := newTable(w, aboutClass(store, class)+", node "+node.Node)
		defer t.flush()
		t.row("PREDICATE", "VERDICT", "REASON")
		for _, v := range node.Predicates {
			verdict := "against"
			switch {
			case !v.Concerned:
				verdict = "not concerned"
			case v.Fits:
				verdict = "fits"
			}
			t.row(v.Predicate, verdict, v.Reason)
		}
		return
	}
	http.Error(w, fmt.Sprintf("node: nothing is remembered of a node %q", chi.URLParam(r, "node")), http.StatusNotFound)
}

func aboutClass(store *predicates.VerdictStore, c predicates.ClassInfo) string {
	return fmt.Sprintf("profile %s, class %s of pod %s, as of generation %d, %v ago",
		store.Profile.Name, c.Hash, c.Pod, c.Generation, c.Age.Round(time.Millisecond))
}

// remembered finds the class that the request names. When there is none it answers
// that, and the store is nil.
func (s *Server) remembered(w http.ResponseWriter, r *http.Request) (*predicates.VerdictStore, predicates.ClassInfo, []predicates.Remembered) {
	hash := chi.URLParam(r, "class")
	for _, store := range s.extender.profiles.Stores() {
		if class, nodes, found := store.Class(hash, chi.URLParam(r, "node")); found {
			return store, class, nodes
		}
	}
	http.Error(w, fmt.Sprintf("class: none of hash %q is remembered; /debug/equivalence lists those that are", hash), http.StatusNotFound)
	return nil, predicates.ClassInfo{}, nil
}
