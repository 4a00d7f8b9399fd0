package server

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"muster.dev/muster/cluster"
	"muster.dev/muster/loadaware"
	"muster.dev/muster/loadaware/source"
)

// loadPage is what is told of load: the source of figures, and for each profile that runs
// LoadAware what it makes of nodes.
type loadPage struct {
	Source   *source.Status `json:"source,omitempty"`
	Profiles []loadProfile  `json:"profiles"`
}

type loadProfile struct {
	Profile string     `json:"profile"`
	Nodes   []loadNode `json:"nodes"`
}

type loadNode struct {
	// AgeSeconds is how old the figures are now, nil when there are none.
	AgeSeconds *float64 `json:"ageSeconds,omitempty"`
	loadaware.Explanation
}

// debugLoad lists what is known of the load of every node, and what follows from it, for pods
// that use nothing or, with ?pod=namespace/name, for one of the cluster.
func (s *Server) debugLoad(w http.ResponseWriter, r *http.Request) {
	pod, found := s.podOfLoad(w, r)
	if !found {
		return
	}
	snap := s.cluster.Snapshot()
	var nodes []*cluster.Node
	for node := range snap.Nodes() {
		nodes = append(nodes, node)
	}
	page := s.loadPage(nodes, pod)
	if asksForJSON(r) {
		for _, profile := range page.Profiles {
			for i := range profile.Nodes {
				profile.Nodes[i].Pods = nil // they are told of one node
			}
		}
		s.writeJSON(w, page)
		return
	}
	t := newTable(w, page.title())
	defer t.flush()
	t.row("PROFILE", "NODE", "MEASURED", "AGE", "USED", "ESTIMATE", "THRESHOLDS", "SCORE", "AGAINST")
	for _, profile := range page.Profiles {
		for i := range profile.Nodes {
			n := &profile.Nodes[i]
			t.row(profile.Profile, n.Node, n.Measured, n.age(), n.shares(n.Filter.Base), n.shares(n.Filter.Estimate),
				percentages(n.Thresholds), n.Score, cmp.Or(n.Reason, "-"))
		}
	}
}

// debugLoadNode shows the whole sum of one node.
func (s *Server) debugLoadNode(w http.ResponseWriter, r *http.Request) {
	pod, found := s.podOfLoad(w, r)
	if !found {
		return
	}
	name := chi.URLParam(r, "node")
	node := s.cluster.Snapshot().NodeByName(name)
	if node == nil {
		http.Error(w, fmt.Sprintf("node: no node %q in the view of the cluster", name), http.StatusNotFound)
		return
	}
	page := s.loadPage([]*cluster.Node{node}, pod)
	if asksForJSON(r) {
		s.writeJSON(w, page)
		return
	}
	t := newTable(w, page.title())
	defer t.flush()
	for _, profile := range page.Profiles {
		profile.Nodes[0].print(t, profile.Profile)
	}
}

// podOfLoad is the pod that the request names, nil if it names none. When there is no such pod it
// answers that, and says false.
func (s *Server) podOfLoad(w http.ResponseWriter, r *http.Request) (pod *cluster.Pod, found bool) {
	if !r.URL.Query().Has("pod") {
		return nil, true
	}
	pod, err := s.podToExplain(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return nil, false
	}
	if pod == nil {
		http.Error(w, fmt.Sprintf("pod: no pod %q in the view of the cluster", r.URL.Query().Get("pod")), http.StatusNotFound)
	}
	return pod, pod != nil
}

func (s *Server) loadPage(nodes []*cluster.Node, pod *cluster.Pod) loadPage {
	page := loadPage{Profiles: []loadProfile{}}
	ages := map[string]time.Duration{}
	if feed := s.load.usage; feed != nil && feed.Keeper != nil {
		ages = feed.Keeper.Ages()
		status := feed.Health.Status()
		page.Source = &status
	}
	for _, store := range s.extender.profiles.Stores() {
		l := loadaware.Of(store.Profile)
		if l == nil {
			continue
		}
		profile := loadProfile{Profile: store.Profile.Name}
		for _, node := range nodes {
			n := loadNode{Explanation: l.Explain(node, pod)}
			if age, known := ages[node.Name]; known && age >= 0 {
				n.AgeSeconds = new(age.Seconds())
			}
			profile.Nodes = append(profile.Nodes, n)
		}
		page.Profiles = append(page.Profiles, profile)
	}
	return page
}

// title says how the source fares.
func (p *loadPage) title() string {
	if len(p.Profiles) == 0 {
		return "no profile runs LoadAware"
	}
	if p.Source == nil {
		return "usage is read from nowhere (load.source)"
	}
	title := "usage from " + p.Source.Source
	switch {
	case p.Source.Since.IsZero():
		title += ", which was not asked yet"
	case p.Source.Reachable:
		title += ", which can be read since " + p.Source.Since.UTC().Format(time.RFC3339)
	default:
		title += ", which cannot be read since " + p.Source.Since.UTC().Format(time.RFC3339)
	}
	if p.Source.LastError != "" {
		title += fmt.Sprintf("; last error, at %s: %s", p.Source.LastErrorAt.UTC().Format(time.RFC3339), p.Source.LastError)
	}
	return title
}

func (n *loadNode) age() string {
	if n.AgeSeconds == nil {
		return "-"
	}
	return time.Duration(*n.AgeSeconds * float64(time.Second)).Round(time.Second).String()
}

// shares are amounts in percent of what the node offers.
func (n *loadNode) shares(amounts loadaware.Amounts) string {
	var shares []string
	for _, name := range slices.Sorted(maps.Keys(amounts)) {
		shares = append(shares, fmt.Sprintf("%s %s", name, percent(amounts[name], n.Allocatable[name])))
	}
	return cmp.Or(strings.Join(shares, ", "), "-")
}

// percentages shows thresholds. 0 is none.
func percentages(thresholds loadaware.Amounts) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(thresholds)) {
		if threshold := thresholds[name]; threshold > 0 {
			all = append(all, fmt.Sprintf("%s %d%%", name, threshold))
		}
	}
	return cmp.Or(strings.Join(all, ", "), "-")
}

// print writes the sum of the node: a line for what each row adds of each resource.
func (n *loadNode) print(t table, profile string) {
	names := slices.Sorted(maps.Keys(n.Allocatable))
	row := func(what string, amounts loadaware.Amounts, note string) {
		cells := []any{what}
		for _, name := range names {
			if amount, given := amounts[name]; given {
				cells = append(cells, amount)
			} else {
				cells = append(cells, "-")
			}
		}
		t.row(append(cells, note)...)
	}
	t.row("PROFILE", profile)
	header := []any{"NODE " + n.Node}
	for _, name := range names {
		header = append(header, name)
	}
	t.row(append(header, fmt.Sprintf("measured %s, age %s", n.Measured, n.age()))...)
	row("allocatable", n.Allocatable, "")
	row("thresholds, %", n.Thresholds, "")
	row("base of the filter", n.Filter.Base, n.Filter.Of)
	row("delta of the filter", n.Filter.Delta, "")
	row("the pod", n.Adds, n.Class)
	row("estimate of the filter", n.Filter.Estimate, n.shares(n.Filter.Estimate))
	row("base of the score", n.ScoredBy.Base, n.ScoredBy.Of)
	row("delta of the score", n.ScoredBy.Delta, "")
	row("estimate of the score", n.ScoredBy.Estimate, n.shares(n.ScoredBy.Estimate))
	t.row("score", n.Score)
	t.row("against", cmp.Or(n.Reason, "-"))
	for _, ignored := range n.Ignored {
		t.row("ignored", ignored)
	}
	t.row()
	for i := range n.Pods {
		pod := &n.Pods[i]
		counts := "is shown by what was measured"
		if pod.Counts != "" {
			counts = "counts: " + pod.Counts
		}
		about := pod.Namespace + "/" + pod.Name
		row(about+", estimate", pod.Estimate, pod.Class+", "+counts)
		row(about+", used", pod.Used, "")
	}
	t.row()
}

// asksForJSON says that a program asks, and not somebody who reads.
func asksForJSON(r *http.Request) bool {
	return r.URL.Query().Get("format") == "json" || strings.Contains(r.Header.Get("Accept"), "application/json")
}
