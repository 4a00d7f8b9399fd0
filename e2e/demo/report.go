package demo

import (
	"cmp"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"

	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/settle"
)

const busiestNodes = 5

// report is the end of the demo.
type report struct {
	outcome   *settle.Outcome
	expected  int
	latencies []muster.VerbLatency
}

func (r report) print(out io.Writer) {
	tally := r.outcome.Tally
	fmt.Fprintf(out, "\n== Result\n")
	fmt.Fprintf(out, "bound      %d of %d pods in %.1fs, %.0f pods/s\n",
		tally.Bound, r.expected, tally.Last.Sub(tally.First).Seconds(), tally.Rate())
	if left := r.expected - tally.Bound; left > 0 {
		fmt.Fprintf(out, "not bound  %d, %d would fit\n", left, len(r.outcome.Stranded))
	}
	r.printLatencies(out)
	r.printBusiest(out)
}

func (r report) printLatencies(out io.Writer) {
	fmt.Fprintln(out)
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "verb\tcalls\tp50\tp99\t")
	for _, l := range r.latencies {
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\t\n", l.Verb, l.Calls, l.P50.Round(time.Microsecond), l.P99.Round(time.Microsecond))
	}
	table.Flush()
}

// load is the load of a node.
type load struct {
	node  *corev1.Node
	pods  int
	asked corev1.ResourceList
}

func (r report) printBusiest(out io.Writer) {
	loads := r.loads()
	slices.SortStableFunc(loads, func(a, b *load) int { return cmp.Compare(b.part(corev1.ResourceCPU), a.part(corev1.ResourceCPU)) })
	fmt.Fprintf(out, "\nThe busiest nodes, by requests of CPU:\n")
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "node\tpods\tcpu\tmemory\tother\t")
	for _, l := range loads[:min(busiestNodes, len(loads))] {
		fmt.Fprintf(
			table, "%s\t%d\t%s\t%s\t%s\t\n", l.node.Name, l.pods, l.percent(corev1.ResourceCPU), l.percent(corev1.ResourceMemory), l.extended(),
		)
	}
	table.Flush()
}

func (r report) loads() []*load {
	byNode := map[string]*load{}
	var loads []*load
	for _, n := range r.outcome.Nodes {
		l := &load{node: n, asked: corev1.ResourceList{}}
		byNode[n.Name] = l
		loads = append(loads, l)
	}
	for _, p := range r.outcome.Pods {
		l := byNode[p.Spec.NodeName]
		if l == nil || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			continue
		}
		l.pods++
		for name, q := range resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{}) {
			sum := l.asked[name]
			sum.Add(q)
			l.asked[name] = sum
		}
	}
	return loads
}

// part is the requested part of what the node offers, 1 is all.
func (l *load) part(name corev1.ResourceName) float64 {
	room := l.node.Status.Allocatable.Name(name, resource.DecimalSI).AsApproximateFloat64()
	if room == 0 {
		return 0
	}
	return l.asked.Name(name, resource.DecimalSI).AsApproximateFloat64() / room
}

func (l *load) percent(name corev1.ResourceName) string {
	return fmt.Sprintf("%.0f%%", 100*l.part(name))
}

// extended tells the requests of resources that only some nodes have.
func (l *load) extended() string {
	var told []string
	for name := range l.node.Status.Allocatable {
		if strings.Contains(string(name), "/") {
			told = append(told, fmt.Sprintf("%s %s", name, l.percent(name)))
		}
	}
	slices.Sort(told)
	return cmp.Or(strings.Join(told, ", "), "-")
}

func (s *stage) printWhereToLook(out io.Writer, keep bool) {
	if !keep {
		fmt.Fprintf(out, "\nTo look further, let it run (%s=1) and try what it prints here.\n", KeepEnv)
		return
	}
	url := s.muster.DebugURL()
	fmt.Fprintf(out, `
Look further:
  curl %[1]s/debug/                            # everything there is to ask
  curl %[1]s/configz                           # the configuration in force
  curl %[1]s/metrics | grep muster_verb        # where the figures above come from
  curl %[1]s/debug/nodes                       # the nodes as muster sees them
  export KUBECONFIG=%[2]s
`, url, s.controlPlane.Kubeconfig())
	if kubectl, err := exec.LookPath("kubectl"); err == nil {
		fmt.Fprintf(out, "  %s get pods -o wide\n", kubectl)
	}
}
