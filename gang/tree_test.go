package gang

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/core"
)

// plant has the watch show a group in a group of groups, and its pods.
func (p *process) plant(parent, group string, least, pods int, cpu string, change ...func(*corev1.Pod)) []*corev1.Pod {
	p.show("PodGroup", group, cluster.Asks{
		Roles: []cluster.Role{{Min: int32(least), All: int32(least)}}, Parent: composite(parent),
	})
	all := members(group, pods, cpu, append(change, native)...)
	p.set(objects(all)...)
	return all
}

// branch has the watch show a group of groups that starts with at least some of them.
func (p *process) branch(parent, name string, least int) {
	asks := cluster.Asks{Groups: int32(least)}
	if parent != "" {
		asks.Parent = composite(parent)
	}
	p.show("CompositePodGroup", name, asks)
}

func composite(name string) cluster.GroupReference {
	return cluster.GroupReference{GroupKind: schema.GroupKind{Group: "scheduling.k8s.io", Kind: "CompositePodGroup"}, Name: name}
}

func (p *process) show(kind, name string, asks cluster.Asks) {
	of := schema.GroupKind{Group: "scheduling.k8s.io", Kind: kind}
	meta := &metav1.ObjectMeta{Namespace: "default", Name: name, UID: "group"}
	p.cluster.Owners.Handler(of).Set(cluster.NewOwner(of, meta, asks))
}

// startTree has the scheduler try pods one after the other, and bind each that has a place, until nothing comes of it for a
// minute, or ten for each pod that it does not bind. It returns the nodes of the pods that have started.
func (p *process) startTree(pods []*corev1.Pod, refused ...string) map[string]string {
	nodes, calls := map[string]string{}, map[string]*call{}
	for idle, round := 0, 0; idle < 6+54*len(refused) && round < 200; idle, round = idle+1, round+1 {
		p.after(10 * time.Second)
		for _, pod := range pods {
			if calls[pod.Name] != nil && calls[pod.Name].held() || p.cluster.PendingPod(pod.UID) == nil {
				continue
			}
			node := p.filter(pod)
			if p.cluster.Snapshot().NodeByName(node) != nil && !slices.Contains(refused, pod.Name) {
				calls[pod.Name], idle = p.bind(pod, node), 0
			}
		}
	}
	for name, call := range calls {
		if !call.held() && call.err == nil {
			nodes[name] = call.node
		}
	}
	return nodes
}

// The least of each group comes before more of any: 3 of 5 and 2 of 2 on five places, where 5 and 0 would be nothing.
func TestTheLeastOfEachGroupOfATreeComesFirst(t *testing.T) {
	run(t, func(p *process) {
		p.branch("", "root", 2)
		pods := slices.Concat(p.plant("root", "first", 2, 5, "1"), p.plant("root", "second", 2, 2, "1"))
		p.set(node("a", "5"))
		nodes := p.startTree(pods)
		if len(nodes) != 5 || nodes["second-0"] == "" || nodes["second-1"] == "" {
			t.Errorf("started on five places are %v, want both of the second and three of the first", nodes)
		}
	})
}

func TestATreeStartsWithTheGroupsThatFit(t *testing.T) {
	run(t, func(p *process) {
		p.branch("", "root", 2)
		small := p.plant("root", "small", 2, 2, "1")
		pods := slices.Concat(p.plant("root", "large", 2, 2, "8"), small, p.plant("root", "tiny", 1, 1, "1"))
		p.set(node("a", "3"))
		p.after(time.Second)
		if got := p.filter(small[0]); got != "a" {
			t.Errorf("the small one is told %q: the choice with the large one comes first, and does not fit", got)
		}
		p.after(time.Second)
		if nodes := p.startTree(pods); len(nodes) != 3 || nodes["small-0"] == "" || nodes["tiny-0"] == "" {
			t.Errorf("started are %v, want the small one and the tiny one", nodes)
		}
		p.set(node("b", "16"))
		if nodes := p.startTree(pods); len(nodes) != 2 || nodes["large-0"] != "b" {
			t.Errorf("started later are %v, want the large one", nodes)
		}
	})
}

func TestAGroupThatIsNotNeededWaitsForTheOthers(t *testing.T) {
	run(t, func(p *process) {
		p.branch("", "root", 2)
		p.set(node("a", "8"))
		first, second, third := p.plant("root", "first", 1, 1, "1"), p.plant("root", "second", 1, 1, "1"), p.plant("root", "third", 1, 1, "1")
		p.after(time.Second)
		if got := p.filter(first[0]); got != "a" {
			t.Fatalf("the first one is told %q", got)
		}
		if got := p.filter(third[0]); got != core.ReasonLater {
			t.Errorf("the third one is told %q while the others have places, want %q", got, core.ReasonLater)
		}
		calls := p.start(first[0], second[0])
		if calls[0].held() || calls[1].held() {
			t.Error("the two that are enough do not start")
		}
		if got := p.filter(third[0]); got != "a" {
			t.Errorf("the third one is told %q once they have started", got)
		}
	})
}

func TestATreeWaitsForEnoughGroups(t *testing.T) {
	run(t, func(p *process) {
		p.branch("", "root", 2)
		p.set(node("a", "8"))
		first := p.plant("root", "first", 1, 1, "1")
		p.after(time.Second)
		if got := p.filter(first[0]); got != core.ReasonSiblings {
			t.Errorf("the only one of two is told %q", got)
		}
		p.plant("root", "second", 2, 1, "1")
		p.after(time.Second)
		if got := p.filter(first[0]); got != core.ReasonSiblings {
			t.Errorf("it is told %q while the other lacks a pod", got)
		}
		p.plant("root", "third", 1, 1, "1")
		p.after(time.Second)
		if got := p.filter(first[0]); got != "a" {
			t.Errorf("it is told %q once a third one will do", got)
		}
	})
}

func TestATreeThatIsChangedIsAskedAgain(t *testing.T) {
	run(t, func(p *process) {
		p.branch("", "root", 2)
		p.set(node("a", "8"))
		only := p.plant("root", "only", 1, 1, "1")
		p.after(time.Second)
		p.filter(only[0])
		p.branch("", "root", 1)
		p.after(time.Second)
		if got := p.filter(only[0]); got != "a" {
			t.Errorf("the only one is told %q once one is enough", got)
		}
	})
}

// One gang of a tree must not keep the others from starting, whatever it lacks.
func TestATreeStartsWithoutAGangThatCannot(t *testing.T) {
	for name, test := range map[string]struct {
		gangs, least int
		cpu          string // of the pod of the first gang
		change       func(*corev1.Pod)
		refused      []string // the scheduler does not bind them
	}{
		"it fits no node": {gangs: 12, least: 6, cpu: "99"},
		"another scheduler is to place it": {
			gangs: 3, least: 2, cpu: "1", change: func(pod *corev1.Pod) { pod.Spec.SchedulerName = "other" },
		},
		"kube-scheduler does not bind its pod": {gangs: 3, least: 2, cpu: "1", refused: []string{"g00-0"}},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(p *process) {
				p.branch("", "root", test.least)
				p.set(node("a", "50"))
				change := func(*corev1.Pod) {}
				if test.change != nil {
					change = test.change
				}
				pods := p.plant("root", "g00", 1, 1, test.cpu, change)
				for i := 1; i < test.gangs; i++ {
					pods = append(pods, p.plant("root", fmt.Sprintf("g%02d", i), 1, 1, "1")...)
				}
				if started := p.startTree(pods, test.refused...); len(started) < test.least || started["g00-0"] != "" {
					t.Errorf("started are %v, want %d and not the first", started, test.least)
				}
			})
		})
	}
}

func TestAPodOfATreeIsMadeAgainWhenAnotherGangIsGone(t *testing.T) {
	run(t, func(p *process) {
		p.branch("", "root", 2)
		p.set(node("a", "9"))
		first, second := p.plant("root", "first", 2, 2, "1"), p.plant("root", "second", 2, 2, "1")
		if started := p.startTree(slices.Concat(first, second)); len(started) != 4 {
			t.Fatalf("started are %v", started)
		}
		p.delete(slices.Concat(first, second[:1])...)
		again := members("second", 3, "1", native)[2:]
		p.set(objects(again)...)
		if started := p.startTree(again); len(started) != 1 {
			t.Errorf("the pod that is made again is told: %s", p.filter(again[0]))
		}
	})
}

func TestPodsAreEvictedForTheChoiceOfATreeThatFits(t *testing.T) {
	for _, large := range []string{"a-large", "z-large"} {
		t.Run(large, func(t *testing.T) {
			run(t, func(p *process) {
				p.running(1)
				p.branch("", "root", 2)
				anchor := p.plant("root", "anchor", 1, 1, "1", ofPriority(10), tried)
				p.plant("root", large, 1, 1, "8", ofPriority(10), tried)
				p.plant("root", "small", 1, 1, "2", ofPriority(10), tried)
				p.after(time.Second)
				if got := p.preempt(anchor[0]); got != "a: on-a-0" {
					t.Errorf("evicted for the anchor, and the small one beside it, is %q", got)
				}
			})
		})
	}
}

// grove is a random tree of up to three groups of up to three groups of up to four pods.
type grove struct {
	least    int
	branches []limb
	free     []int // CPUs of the nodes
}

type limb struct {
	least int
	gangs []gang
}

type gang struct{ least, cpu, pods int }

func drawGrove(r *rand.Rand) grove {
	var g grove
	for range 1 + r.IntN(3) {
		var b limb
		for range 1 + r.IntN(3) {
			pods := 1 + r.IntN(4)
			b.gangs = append(b.gangs, gang{1 + r.IntN(pods), 1 + r.IntN(4), pods})
		}
		b.least = 1 + r.IntN(len(b.gangs))
		g.branches = append(g.branches, b)
	}
	g.least = 1 + r.IntN(len(g.branches))
	for range 1 + r.IntN(4) {
		g.free = append(g.free, 1+r.IntN(7))
	}
	return g
}

// fits tries every choice of gangs, and every way to place the least of each.
func (g *grove) fits() bool {
	sets := []([]int){nil} // sizes of the pods of each choice
	for _, chosen := range subsets(len(g.branches), g.least) {
		of := []([]int){nil}
		for _, i := range chosen {
			of = product(of, g.branches[i].choices())
		}
		sets = append(sets, of...)
	}
	failed := map[string]bool{}
	return slices.ContainsFunc(sets[1:], func(sizes []int) bool { return pack(g.free, sizes, failed) })
}

func (b *limb) choices() (sets [][]int) {
	for _, chosen := range subsets(len(b.gangs), b.least) {
		var sizes []int
		for _, i := range chosen {
			sizes = append(sizes, slices.Repeat([]int{b.gangs[i].cpu}, b.gangs[i].least)...)
		}
		sets = append(sets, sizes)
	}
	return sets
}

func product(a, b [][]int) (all [][]int) {
	for _, x := range a {
		for _, y := range b {
			all = append(all, slices.Concat(x, y))
		}
	}
	return all
}

// subsets returns all sets of a size of the first n numbers.
func subsets(n, size int) (all [][]int) {
	for bits := range 1 << n {
		var set []int
		for i := range n {
			if bits>>i&1 == 1 {
				set = append(set, i)
			}
		}
		if len(set) == size {
			all = append(all, set)
		}
	}
	return all
}

// pack reports whether sizes fit in some free amounts.
func pack(free, sizes []int, failed map[string]bool) bool {
	if len(sizes) == 0 {
		return true
	}
	free, sizes = slices.Sorted(slices.Values(free)), slices.Sorted(slices.Values(sizes))
	key := fmt.Sprint(free, sizes)
	last := len(sizes) - 1
	for i, has := range free {
		if has < sizes[last] || failed[key] || i > 0 && free[i-1] == has {
			continue
		}
		after := slices.Clone(free)
		after[i] -= sizes[last]
		if pack(after, sizes[:last], failed) {
			return true
		}
	}
	failed[key] = true
	return false
}

// branches has the watch show the groups of groups of a tree.
func (g *grove) branch(p *process) {
	p.branch("", "root", g.least)
	for i, b := range g.branches {
		p.branch("root", fmt.Sprint("b", i), b.least)
	}
}

// plant has the watch show a tree with its pods, which it returns.
func (g *grove) plant(p *process) (pods []*corev1.Pod) {
	g.branch(p)
	for i, b := range g.branches {
		for j, of := range b.gangs {
			pods = append(pods, p.plant(fmt.Sprint("b", i), fmt.Sprintf("g%d%d", i, j), of.least, of.pods, fmt.Sprint(of.cpu))...)
		}
	}
	return pods
}

// TestTreesThatFitAreStarted holds whether trees start against all ways to choose their gangs and to place them. TREES is how many.
func TestTreesThatFitAreStarted(t *testing.T) {
	placed, could, cases := 0, 0, 100
	if testing.Short() {
		cases = 40
	}
	if more, err := strconv.Atoi(os.Getenv("TREES")); err == nil {
		cases = more
	}
	for i := range cases {
		g := drawGrove(rand.New(rand.NewPCG(1, uint64(i))))
		can := g.fits()
		if can {
			could++
		}
		run(t, func(p *process) {
			for i, cpu := range g.free {
				p.set(node(fmt.Sprint("node-", i), fmt.Sprint(cpu)))
			}
			started := p.startTree(g.plant(p))
			if len(started) > 0 {
				placed++
			}
			if (len(started) > 0) != can || !g.wholeWith(started) {
				t.Errorf("case %d: %+v can start: %t; started are %v", i, g, can, started)
			}
		})
	}
	t.Logf("figure trees_placed_vs_optimum=%.3f", float64(placed)/float64(could))
}

// TestNoTreeStartsInPart has pods, nodes and calls of the scheduler come and go in any order, and the demands of a tree change.
func TestNoTreeStartsInPart(t *testing.T) {
	cases := 60
	if testing.Short() {
		cases = 20
	}
	for i := range cases {
		r := rand.New(rand.NewPCG(2, uint64(i)))
		g := drawGrove(r)
		run(t, func(p *process) {
			pods := g.plant(p)
			calls := map[string]*call{}
			started := func() map[string]string {
				nodes := map[string]string{}
				for name, call := range calls {
					if !call.held() && call.err == nil {
						nodes[name] = call.node
					}
				}
				p.machine.mu.Lock()
				defer p.machine.mu.Unlock()
				for _, pod := range pods { // no call of it waits, and the next one goes on
					if _, member, _ := p.machine.state.Member(pod.UID, p.machine.moment()); member.Stage == "due" {
						nodes[pod.Name] = member.Node
					}
				}
				return nodes
			}
			for step := range 60 {
				pod := pods[r.IntN(len(pods))]
				call := calls[pod.Name]
				pending := p.cluster.PendingPod(pod.UID) != nil && (call == nil || !call.held())
				before := len(started())
				switch r.IntN(8) {
				case 0:
					p.set(node(fmt.Sprint("node-", step), fmt.Sprint(1+r.IntN(6))))
				case 1:
					if call != nil && call.held() {
						call.cancel()
					}
				case 2:
					if pending && before == 0 {
						p.delete(pod)
					}
				case 3:
					if before == 0 {
						g.least = 1 + r.IntN(len(g.branches))
						g.branch(p)
					}
				case 4:
					if started()[pod.Name] == "" {
						p.set(pod)
					}
				case 5:
					p.after(time.Duration(r.IntN(40)) * time.Second)
				default:
					for _, pod := range pods {
						call := calls[pod.Name]
						if p.cluster.PendingPod(pod.UID) == nil || call != nil && call.held() || r.IntN(4) == 0 {
							continue
						}
						if node := p.filter(pod); p.cluster.Snapshot().NodeByName(node) != nil {
							calls[pod.Name] = p.bind(pod, node)
						}
					}
				}
				if now := started(); !g.wholeWith(now) {
					t.Fatalf("case %d, step %d: %+v has started in part: %v", i, step, g, now)
				}
				if before > 0 && len(started()) < before {
					t.Fatalf("case %d, step %d: a start is undone", i, step)
				}
			}
			p.set(node("large", "100"))
			for _, pod := range pods {
				if started()[pod.Name] == "" {
					p.set(pod)
				}
			}
			for _, call := range calls {
				call.cancel()
			}
			p.startTree(pods)
			for _, pod := range pods {
				if p.cluster.PendingPod(pod.UID) != nil && p.filter(pod) != "any" {
					t.Errorf("case %d: %s waits, and there is room: %s", i, pod.Name, p.why(pod.Name[:3]))
				}
			}
		})
	}
}

// wholeWith reports whether enough pods of enough gangs of enough branches have started, if any has, and no gang without enough.
func (g *grove) wholeWith(started map[string]string) bool {
	branches := 0
	for i, b := range g.branches {
		gangs := 0
		for j, of := range b.gangs {
			pods := 0
			for name := range started {
				if strings.HasPrefix(name, fmt.Sprintf("g%d%d-", i, j)) {
					pods++
				}
			}
			if pods > 0 && pods < of.least {
				return false
			}
			if pods > 0 {
				gangs++
			}
		}
		if gangs > 0 && gangs < b.least {
			return false
		}
		if gangs > 0 {
			branches++
		}
	}
	return branches == 0 || branches >= g.least
}
