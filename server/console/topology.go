package console

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/core"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/inspect"
	"muster.dev/muster/server/network"
)

// mostGangs bounds the gangs that a page names in one domain.
const mostGangs = 100

// topologyPage is the domains of one generation of the cluster.
type topologyPage struct {
	Generation uint64        `json:"generation"`
	Networks   []networkPage `json:"networks"`
	// More is how many other orders of levels are in use, which are not shown.
	More int `json:"more,omitempty"`
}

// networkPage is the domains of levels that lie in one another.
type networkPage struct {
	// Levels are the keys of labels that tell the domains of each level apart, the uppermost first.
	Levels network.Network `json:"levels"`
	// Domains are in the order of their paths, so that a domain is before the ones in it.
	Domains []domainRow `json:"domains"`
}

// domainRow shows what the nodes of a domain offer, and who is there.
type domainRow struct {
	// Path has the values of the labels of its level. [network.Without] is for nodes without one.
	Path []string `json:"path"`
	// Nodes is how many nodes it has, and Empty how many have no pods other than of DaemonSets. Nodes that are cordoned or not
	// ready are in neither, but in Away.
	Nodes       int      `json:"nodes"`
	Empty       int      `json:"empty"`
	Away        int      `json:"away,omitempty"`
	Allocatable amounts  `json:"allocatable"`
	Requested   amounts  `json:"requested"`
	Gangs       []string `json:"gangs,omitempty"` // namespace/name, the first ones in their order
}

// debugTopology shows the domains by the levels that are asked about, or by the levels in use.
func (s *Console) debugTopology(r *http.Request) (inspect.Answer, error) {
	snap := s.options.Cluster.Snapshot()
	page := topologyPage{Generation: snap.Generation, Networks: []networkPage{}}
	networks, err := askedLevels(r, snap)
	if err != nil {
		return nil, err
	}
	if networks == nil {
		networks, page.More = network.InUse(snap, s.gangs())
	}
	for _, levels := range networks {
		page.Networks = append(page.Networks, newNetworkPage(snap, levels))
	}
	return page, nil
}

// gangs are all gangs, none where they are not known.
func (s *Console) gangs() []core.Summary {
	if s.options.Gangs == nil {
		return nil
	}
	return s.options.Gangs.Report()
}

// askedLevels returns the levels that a request asks about, nil for none.
func askedLevels(r *http.Request, snap *cluster.Snapshot) ([]network.Network, error) {
	asked := r.URL.Query().Get("levels")
	if asked == "" {
		return nil, nil
	}
	levels := strings.SplitN(asked, ",", network.MostLevels+1)
	if len(levels) > network.MostLevels {
		return nil, inspect.Refuse(http.StatusBadRequest, "levels: no more than %d keys of labels, with commas between them", network.MostLevels)
	}
	for _, key := range levels {
		if len(validation.IsQualifiedName(key)) > 0 {
			return nil, inspect.Refuse(http.StatusBadRequest, "levels: %q is no key of a label, such as topology.kubernetes.io/zone", key)
		}
	}
	return []network.Network{network.Named(snap, levels)}, nil
}

func newNetworkPage(snap *cluster.Snapshot, levels network.Network) networkPage {
	rows := map[string]*domainRow{}
	gangs := map[string]sets.Set[string]{}
	for node := range snap.Nodes() {
		for _, level := range levels {
			path := level.Path(node)
			at := strings.Join(path, "/") // no value of a label has one
			if rows[at] == nil {
				rows[at], gangs[at] = &domainRow{Path: path}, sets.New[string]()
			}
			rows[at].add(node, gangs[at])
		}
	}
	page := networkPage{Levels: levels, Domains: make([]domainRow, 0, len(rows))}
	for at, row := range rows {
		names := sets.List(gangs[at])
		row.Gangs = names[:min(len(names), mostGangs)]
		page.Domains = append(page.Domains, *row)
	}
	slices.SortFunc(page.Domains, func(a, b domainRow) int { return slices.Compare(a.Path, b.Path) })
	return page
}

// add counts a node.
func (d *domainRow) add(node *cluster.Node, gangs sets.Set[string]) {
	for _, pod := range node.Pods {
		if key, member := membership.Of(pod); member {
			gangs.Insert(key.String())
		}
	}
	if !network.Ready(node) {
		d.Away++
		return
	}
	d.Nodes++
	if network.Empty(node) {
		d.Empty++
	}
	row := newNodeRow(node)
	d.Allocatable.add(row.Allocatable)
	d.Requested.add(row.Requested)
}

// add adds amounts.
func (a *amounts) add(more amounts) {
	a.CPU, a.Memory, a.Pods = a.CPU+more.CPU, a.Memory+more.Memory, a.Pods+more.Pods
	for name, amount := range more.Extended {
		if a.Extended == nil {
			a.Extended = map[string]int64{}
		}
		a.Extended[name] += amount
	}
}

// mostNamed is how many gangs of a domain a table names.
const mostNamed = 3

// Text implements [inspect.Answer].
func (p topologyPage) Text(t *inspect.Table) {
	if len(p.Networks) == 0 {
		t.Title("no gang asks for nodes near each other by labels that nodes have, and no Topology lists any; " +
			"?levels=KEY,KEY shows the domains by labels of nodes, the upper level first")
		return
	}
	for i, n := range p.Networks {
		if i > 0 {
			t.Gap()
		}
		t.Title("generation %d: domains by %s", p.Generation, inWords(n.Levels))
		t.Row("DOMAIN", "NODES", "EMPTY", "AWAY", "PODS", "CPU", "MEMORY", "EXTENDED", "GANGS")
		for _, d := range n.Domains {
			named := strings.Join(d.Gangs[:min(len(d.Gangs), mostNamed)], " ")
			if len(d.Gangs) > mostNamed {
				named += " …"
			}
			t.Row(strings.Join(d.Path, "/"), d.Nodes, d.Empty, d.Away, d.Requested.Pods,
				percent(d.Requested.CPU, d.Allocatable.CPU), percent(d.Requested.Memory, d.Allocatable.Memory),
				inExtended(d.Requested.Extended, d.Allocatable.Extended), cmp.Or(named, "-"))
		}
	}
	if p.More > 0 {
		t.Gap()
		t.Title("%d other orders of levels are in use: ?levels=KEY,KEY shows one", p.More)
	}
}

// inWords names levels by their keys, each with those above it that are no level.
func inWords(levels network.Network) string {
	var named []string
	above := 0
	for _, level := range levels {
		own := len(level) - 1
		name := level[own]
		if own > above {
			name += " (in " + strings.Join(level[above:own], ", ") + ")"
		}
		named, above = append(named, name), len(level)
	}
	return strings.Join(named, ", then ")
}
