package console

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
	"muster.dev/muster/inspect"
	"muster.dev/muster/loadaware"
	"muster.dev/muster/loadaware/source"
)

// loadPage shows load: the source of figures, and for each profile that runs LoadAware its verdict
// on nodes.
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

// debugLoad shows the known load of every node and its consequences, for pods that use nothing or,
// with ?pod=namespace/name, for a pod of the cluster.
func (s *Console) debugLoad(r *http.Request) (inspect.Answer, error) {
	pod, err := s.podOfLoad(r)
	if err != nil {
		return nil, err
	}
	page := s.loadPage(slices.Collect(s.options.Cluster.Snapshot().Nodes()), pod)
	for _, profile := range page.Profiles {
		for i := range profile.Nodes {
			profile.Nodes[i].Pods = nil // they are told of one node
		}
	}
	return loadOfNodes{page}, nil
}

// debugLoadNode is the whole sum of one node.
func (s *Console) debugLoadNode(r *http.Request) (inspect.Answer, error) {
	pod, err := s.podOfLoad(r)
	if err != nil {
		return nil, err
	}
	name := chi.URLParam(r, "node")
	node := s.options.Cluster.Snapshot().NodeByName(name)
	if node == nil {
		return nil, inspect.Refuse(http.StatusNotFound, "node: no node %q in the view of the cluster", name)
	}
	return loadOfNode{s.loadPage([]*cluster.Node{node}, pod)}, nil
}

// podOfLoad is the pod that the request names, nil if it names none.
func (s *Console) podOfLoad(r *http.Request) (*cluster.Pod, error) {
	if !r.URL.Query().Has("pod") {
		return nil, nil
	}
	return s.podToExplain(r)
}

// loadOfNodes has a line for each node.
type loadOfNodes struct{ loadPage }

// Text implements [inspect.Answer].
func (p loadOfNodes) Text(t *inspect.Table) {
	t.Title("%s", p.title())
	t.Row("PROFILE", "NODE", "MEASURED", "AGE", "USED", "ESTIMATE", "THRESHOLDS", "SCORE", "AGAINST")
	for _, profile := range p.Profiles {
		for i := range profile.Nodes {
			n := &profile.Nodes[i]
			t.Row(profile.Profile, n.Node, n.Measured, n.age(), n.shares(n.Filter.Base), n.shares(n.Filter.Estimate),
				percentages(n.Thresholds), n.Score, cmp.Or(n.Reason, "-"))
		}
	}
}

// loadOfNode has the sum of one node, for each profile.
type loadOfNode struct{ loadPage }

// Text implements [inspect.Answer].
func (p loadOfNode) Text(t *inspect.Table) {
	t.Title("%s", p.title())
	for _, profile := range p.Profiles {
		profile.Nodes[0].print(t, profile.Profile)
	}
}

func (s *Console) loadPage(nodes []*cluster.Node, pod *cluster.Pod) loadPage {
	page := loadPage{Profiles: []loadProfile{}}
	ages := map[string]time.Duration{}
	if feed := s.options.Usage; feed.Keeper != nil {
		ages = feed.Keeper.Ages()
		status := feed.Health.Status()
		page.Source = &status
	}
	for _, store := range s.options.Profiles.Stores() {
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
		title += ", which can be read since " + inspect.Time(p.Source.Since)
	default:
		title += ", which cannot be read since " + inspect.Time(p.Source.Since)
	}
	if p.Source.LastError != "" {
		title += fmt.Sprintf("; last error, at %s: %s", inspect.Time(p.Source.LastErrorAt), p.Source.LastError)
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
func (n *loadNode) print(t *inspect.Table, profile string) {
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
		t.Row(append(cells, note)...)
	}
	t.Row("PROFILE", profile)
	header := []any{"NODE " + n.Node}
	for _, name := range names {
		header = append(header, name)
	}
	t.Row(append(header, fmt.Sprintf("measured %s, age %s", n.Measured, n.age()))...)
	row("allocatable", n.Allocatable, "")
	row("thresholds, %", n.Thresholds, "")
	row("base of the filter", n.Filter.Base, n.Filter.Of)
	row("delta of the filter", n.Filter.Delta, "")
	row("the pod", n.Adds, n.Class)
	row("estimate of the filter", n.Filter.Estimate, n.shares(n.Filter.Estimate))
	row("base of the score", n.ScoredBy.Base, n.ScoredBy.Of)
	row("delta of the score", n.ScoredBy.Delta, "")
	row("estimate of the score", n.ScoredBy.Estimate, n.shares(n.ScoredBy.Estimate))
	t.Row("score", n.Score)
	t.Row("against", cmp.Or(n.Reason, "-"))
	for _, namespace := range n.Bounded {
		t.Row("bounded", "estimates of namespace "+namespace+" beyond its requests count in part for other namespaces")
	}
	for _, ignored := range n.Ignored {
		t.Row("ignored", ignored)
	}
	t.Gap()
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
	t.Gap()
}
