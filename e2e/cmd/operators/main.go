// Command operators prints what muster makes of the pods of controllers of others, as those make them: nobody has edited
// a template, and gangs.kinds has its default.
//
// Each cell comes from the packages that muster itself asks, about objects in dumps (gang/operators/*/testdata):
//
//	members   all pods belong to a gang
//	minimum   the number that must start together is the one that their controller means
//	roles     pods of all roles start together
//	elastic   a number below all pods does to begin with, where their controller has such a number
//	replaced  one pod that takes the place of another goes alone, and all go together when all are made again
//	moved     on nodes they are one gang still, which the rescheduler moves whole or leaves alone
package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/gang/operators/kinds"
	"muster.dev/muster/gang/operators/operatorstest"
)

func main() {
	if err := run("../gang/operators", os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "operators:", err)
		os.Exit(1)
	}
}

// run prints the table for dumps below a directory.
func run(dumps string, out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "OPERATOR\tMEMBERS\tMINIMUM\tROLES\tELASTIC\tREPLACED\tMOVED")
	whole, silent := 0, 0
	var reasons strings.Builder
	for _, o := range all() {
		r, err := o.judge(dumps)
		if err != nil {
			return fmt.Errorf("%s: %w", o.name, err)
		}
		if r.whole() {
			whole++
		}
		if r.silent {
			silent++
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", o.name, yes(r.members), yes(r.minimum), yes(r.roles), r.elastic,
			yes(r.replaced), yes(r.moved))
		if r.why != "" {
			fmt.Fprintf(&reasons, "\n%s: %s", o.name, r.why)
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(
		out, "%s\n\nfigure operators_whole_without_edits=%d\nfigure operators_silently_single=%d\n", reasons.String(), whole, silent,
	)
	return err
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

// report is a line of the table.
type report struct {
	members, minimum, roles, replaced, moved bool
	elastic                                  string
	silent                                   bool // a pod is single, and nothing says why
	why                                      string
}

func (r *report) whole() bool { return r.members && r.minimum && r.roles }

// judge reads the dump of an operator and asks about its pods.
func (o *operator) judge(dumps string) (*report, error) {
	path := filepath.Join(dumps, o.dump)
	if strings.HasPrefix(o.dump, "testdata") {
		path = filepath.Join("cmd/operators", o.dump)
	}
	c, err := operatorstest.Load(kinds.All(), config.Default().Gangs.Kinds, path)
	if err != nil {
		return nil, err
	}
	gangs, err := gangsOf(c, c.Pending(), o.pods)
	if err != nil {
		return nil, err
	}
	r := &report{elastic: "-", silent: gangs.silent, why: gangs.why}
	r.members = gangs.single == 0
	r.minimum, r.roles = r.members && gangs.minimum() == o.least, r.members && gangs.together()
	r.replaced = r.members && gangs.replaces()
	if len(o.elastic) > 0 {
		some, err := gangsOf(c, c.Pending(), o.elastic)
		if err != nil {
			return nil, err
		}
		r.elastic = yes(some.single == 0 && some.minimum() == o.elasticLeast && some.together())
	}
	on, err := bind(c, o.pods)
	if err != nil {
		return nil, err
	}
	bound, err := gangsOf(c, on, o.pods)
	r.moved = r.members && err == nil &&
		maps.EqualFunc(gangs.specs, bound.specs, func(a, b *membership.Spec) bool { return a.AsksAsMuchAs(b) })
	return r, err
}

// bind has pods be on a node, as the watch shows them, and returns them.
func bind(c *cluster.Cluster, names []string) (pods []*cluster.Pod, err error) {
	node := &corev1.Node{}
	node.Name = "node"
	if err := c.Set(node); err != nil {
		return nil, err
	}
	for _, pod := range c.Pending() {
		if slices.Contains(names, pod.Name) {
			bound := pod.DeepCopy()
			bound.Spec.NodeName = node.Name
			if err := c.Set(bound); err != nil {
				return nil, err
			}
		}
	}
	return c.Snapshot().NodeByName(node.Name).Pods, nil
}

// gangs are the gangs of some pods.
type gangs struct {
	specs  map[membership.Key]*membership.Spec
	single int
	silent bool
	why    string // one of them is single
}

func gangsOf(c *cluster.Cluster, among []*cluster.Pod, names []string) (*gangs, error) {
	bounds := membership.Bounds{Timeout: time.Minute, MaxTimeout: time.Hour, MaxMembers: 10_000}
	g := &gangs{specs: map[membership.Key]*membership.Spec{}}
	found := 0
	for _, pod := range among {
		if !slices.Contains(names, pod.Name) {
			continue
		}
		found++
		key, member := membership.Of(pod)
		if !member {
			g.single++
			g.silent, g.why = g.silent || pod.Affiliation.Why == "", pod.Affiliation.Why
			continue
		}
		spec := bounds.Said(slices.Values([]*cluster.Pod{pod}))
		if object := membership.Object(c.Snapshot(), key); object != nil {
			spec = bounds.Asked(object)
		}
		if not := membership.Unasked(key, spec); not != nil {
			return nil, fmt.Errorf("%s: %s", key, not.Why)
		}
		g.specs[key] = spec
	}
	if found != len(names) {
		return nil, fmt.Errorf("%d of the pods %q are there", found, names)
	}
	return g, nil
}

// minimum is how many pods must start together.
func (g *gangs) minimum() (sum int) {
	for _, spec := range g.specs {
		sum += spec.MinMember
	}
	return sum
}

// together reports whether all of them start together, or none has to wait for another one.
func (g *gangs) together() bool {
	for key, spec := range g.specs {
		siblings, not := spec.Siblings(key, func(other membership.Key) (*membership.Spec, *membership.Hindrance) { return g.specs[other], nil })
		if not != nil || len(siblings)+1 != len(g.specs) {
			return false
		}
	}
	return true
}

// replaces reports whether one pod that is missing goes alone, and all of them together when all are.
func (g *gangs) replaces() bool {
	for _, spec := range g.specs {
		if !spec.InBatches() && spec.Missing(spec.MinMember-1) == 1 && spec.Missing(0) == spec.MinMember {
			continue
		}
		return false
	}
	return true
}
