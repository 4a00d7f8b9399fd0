package console

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/inspect"
)

// mostLevels is how many levels a page shows at most: a gang may name no more.
const mostLevels = 3

// mostNetworks bounds the orders of levels that one page shows, and mostGangs the gangs that it names in one domain.
const mostNetworks, mostGangs = 16, 100

// topologyPage is the domains of one generation of the cluster.
type topologyPage struct {
	Generation uint64        `json:"generation"`
	Networks   []networkPage `json:"networks"`
	// More is how many other orders of levels gangs name, which are not shown.
	More int `json:"more,omitempty"`
}

// networkPage is the domains by the labels of some keys, the uppermost first.
type networkPage struct {
	Levels []string `json:"levels"`
	// Domains are in the order of their paths, so that a domain is before the ones in it.
	Domains []domainRow `json:"domains"`
}

// domainRow shows what the nodes of a domain offer, and who is there.
type domainRow struct {
	// Path has the values of the labels, from the first level to the domain's. "" is for nodes without the label.
	Path []string `json:"path"`
	// Nodes is how many nodes it has, and Empty how many have no pods other than of DaemonSets. Cordoned nodes are in neither.
	Nodes       int      `json:"nodes"`
	Empty       int      `json:"empty"`
	Cordoned    int      `json:"cordoned,omitempty"`
	Allocatable amounts  `json:"allocatable"`
	Requested   amounts  `json:"requested"`
	Gangs       []string `json:"gangs,omitempty"` // namespace/name, the first ones in their order
}

// debugTopology shows the domains by the levels that are asked about, or by the levels that gangs ask for.
func (s *Console) debugTopology(r *http.Request) (inspect.Answer, error) {
	all, err := s.levelsOf(r)
	if err != nil {
		return nil, err
	}
	snap := s.options.Cluster.Snapshot()
	page := topologyPage{Generation: snap.Generation, Networks: []networkPage{}, More: max(0, len(all)-mostNetworks)}
	all = all[:min(len(all), mostNetworks)]
	for _, levels := range all {
		page.Networks = append(page.Networks, newNetworkPage(snap, levels))
	}
	return page, nil
}

// levelsOf returns the levels that a request asks about, each an order of keys.
func (s *Console) levelsOf(r *http.Request) (all [][]string, err error) {
	if asked := r.URL.Query().Get("levels"); asked != "" {
		levels := strings.SplitN(asked, ",", mostLevels+1)
		if len(levels) > mostLevels {
			return nil, inspect.Refuse(http.StatusBadRequest, "levels: no more than %d keys of labels, with commas between them", mostLevels)
		}
		for _, key := range levels {
			if len(validation.IsQualifiedName(key)) > 0 {
				return nil, inspect.Refuse(http.StatusBadRequest, "levels: %q is no key of a label, such as topology.kubernetes.io/zone", key)
			}
		}
		return [][]string{levels}, nil
	}
	if s.options.Gangs == nil {
		return nil, nil
	}
	known := sets.New[string]()
	for _, gang := range s.options.Gangs.Report() {
		if key := strings.Join(gang.Levels, ","); key != "" && !known.Has(key) {
			known.Insert(key)
			all = append(all, gang.Levels)
		}
	}
	slices.SortFunc(all, slices.Compare)
	return all, nil
}

func newNetworkPage(snap *cluster.Snapshot, levels []string) networkPage {
	rows := map[string]*domainRow{}
	gangs := map[string]sets.Set[string]{}
	for node := range snap.Nodes() {
		var path []string
		for _, key := range levels {
			path = append(path, node.Labels[key])
			at := strings.Join(path, "/") // no value of a label has one
			if rows[at] == nil {
				rows[at], gangs[at] = &domainRow{Path: slices.Clone(path)}, sets.New[string]()
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
	if node.Spec.Unschedulable {
		d.Cordoned++
		return
	}
	d.Nodes++
	if !slices.ContainsFunc(node.Pods, func(pod *cluster.Pod) bool { return !pod.OfDaemonSet() }) {
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
		t.Title("no gang asks for nodes near each other; ?levels=KEY,KEY shows the domains by labels of nodes, the upper level first")
		return
	}
	for i, network := range p.Networks {
		if i > 0 {
			t.Gap()
		}
		t.Title("generation %d: domains by %s", p.Generation, strings.Join(network.Levels, ", then "))
		t.Row("DOMAIN", "NODES", "EMPTY", "CORDONED", "PODS", "CPU", "MEMORY", "EXTENDED", "GANGS")
		for _, d := range network.Domains {
			path := slices.Clone(d.Path)
			for i, value := range path {
				path[i] = cmp.Or(value, "(none)")
			}
			named := strings.Join(d.Gangs[:min(len(d.Gangs), mostNamed)], " ")
			if len(d.Gangs) > mostNamed {
				named += " …"
			}
			t.Row(strings.Join(path, "/"), d.Nodes, d.Empty, d.Cordoned, d.Requested.Pods,
				percent(d.Requested.CPU, d.Allocatable.CPU), percent(d.Requested.Memory, d.Allocatable.Memory),
				inExtended(d.Requested.Extended, d.Allocatable.Extended), cmp.Or(named, "-"))
		}
	}
	if p.More > 0 {
		t.Gap()
		t.Title("gangs name %d other orders of levels: ?levels=KEY,KEY shows one", p.More)
	}
}
