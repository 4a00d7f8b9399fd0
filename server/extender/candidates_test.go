package extender

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	"pgregory.net/rapid"

	"muster.dev/muster/api/seeded"
	"muster.dev/muster/cluster"
	"muster.dev/muster/server/servertest"
)

// Nodes come and go, and requests name them in any order, several times, or name
// nodes that are not there: the remembered order never changes an answer.
func TestCandidatesAreThoseThatALookUpFinds(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		c := cluster.New(cluster.Options{Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), AssumeTTL: time.Hour})
		name := rapid.Custom(func(t *rapid.T) string { return fmt.Sprintf("node-%d", rapid.IntRange(0, 80).Draw(t, "node")) })
		node := rapid.Custom(func(t *rapid.T) *corev1.Node {
			node := &corev1.Node{}
			node.Name = name.Draw(t, "name")
			return node
		})
		var k reading
		var learned order
		var request [][]byte
		t.Repeat(map[string]func(*rapid.T){
			"nodes appear": func(t *rapid.T) {
				for _, node := range rapid.SliceOfN(node, 1, 70).Draw(t, "nodes") {
					if err := c.Set(node); err != nil {
						t.Fatal(err)
					}
				}
			},
			"nodes vanish": func(t *rapid.T) {
				for _, node := range rapid.SliceOfN(node, 1, 20).Draw(t, "nodes") {
					if err := c.Delete(node); err != nil {
						t.Fatal(err)
					}
				}
			},
			"the request is another one": func(t *rapid.T) {
				request = request[:0]
				for _, name := range rapid.SliceOf(name).Draw(t, "names") {
					request = append(request, []byte(name))
				}
			},
			"a request is read": func(t *rapid.T) {
				snap := c.Snapshot()
				k.reset(snap.NodeNames, &learned)
				for _, name := range request {
					quoted := strconv.Quote(string(name))
					switch length := k.Known([]byte(quoted + `,"node-1"]}`)); {
					case length == 0:
						k.Name(name)
					case length != len(quoted):
						t.Fatalf("%s was taken to be %d bytes long", quoted, length)
					}
				}
				compare(t, k.candidates, snap, request)
			},
			"nodes come and go while a request is answered": func(t *rapid.T) {
				if k.names == nil {
					t.Skip("no request was read")
				}
				var read [][]byte
				for _, index := range k.indexes {
					read = append(read, k.name(index))
				}
				for _, node := range rapid.SliceOfN(node, 0, 5).Draw(t, "new nodes") {
					if err := c.Set(node); err != nil {
						t.Fatal(err)
					}
				}
				for _, node := range rapid.SliceOfN(node, 0, 5).Draw(t, "old nodes") {
					if err := c.Delete(node); err != nil {
						t.Fatal(err)
					}
				}
				compare(t, k.candidates, c.Snapshot(), read)
			},
		})
	})
}

func TestNoTextIsNoKnownName(t *testing.T) {
	c := cluster.New(cluster.Options{Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), AssumeTTL: time.Hour})
	node := &corev1.Node{}
	node.Name = "a"
	if err := c.Set(node); err != nil {
		t.Fatal(err)
	}
	var k reading
	k.reset(c.Snapshot().NodeNames, new(order))
	for _, text := range []string{``, `"`, `"a`, `]`, `a"`, `"\u0061"`, `"ab"`} {
		if length := k.Known([]byte(text)); length != 0 {
			t.Errorf("%d bytes of %q were taken for a known name", length, text)
		}
	}
}

func TestTheOrderOfInterleavedStreamsIsLearned(t *testing.T) {
	const nodes, requests = 500, 30
	c := cluster.New(cluster.Options{Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), AssumeTTL: time.Hour})
	for i := range nodes {
		node := &corev1.Node{}
		node.Name = fmt.Sprintf("node-%d", i)
		if err := c.Set(node); err != nil {
			t.Fatal(err)
		}
	}
	names := c.Snapshot().NodeNames
	r := rand.New(rand.NewPCG(1, 1))
	walk := r.Perm(nodes)
	var learned order
	var k reading
	lookups := 0
	for range requests {
		k.reset(names, &learned)
		before := learned.turn
		for _, i := range interleave(r, walk) {
			if k.Known([]byte(strconv.Quote(fmt.Sprintf("node-%d", i)))) == 0 {
				t.Fatalf("node-%d is not known", i)
			}
		}
		lookups = learned.turn - before
	}
	if lookups > nodes/10 {
		t.Errorf("after %d requests %d of %d names were still looked up", requests, lookups, nodes)
	}
}

func compare(t *rapid.T, k candidates, snap *cluster.Snapshot, request [][]byte) {
	var want, got []string
	for _, name := range request {
		if snap.NodeByName(string(name)) != nil {
			want = append(want, "known "+string(name))
		} else {
			want = append(want, "unknown "+string(name))
		}
	}
	now := k.in(snap)
	for _, index := range now.indexes {
		if node := snap.Node(index); node != nil {
			got = append(got, "known "+node.Name)
		} else {
			got = append(got, "unknown "+string(now.name(index)))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("a look-up (-) and the candidates (+) differ:\n%s", diff)
	}
}

func TestARequestNamesNoMoreThanThereMayBe(t *testing.T) {
	b := newBench(t, benchOptions{})
	b.Node("a", "4")
	b.Node("b", "4")
	const most = 2*2 + spareNames
	for names, want := range map[int]int{most: http.StatusOK, most + 1: http.StatusBadRequest} {
		for what, format := range map[string]string{"known": `"a"`, "unknown": `"n%d"`} {
			list := make([]string, names)
			for i := range list {
				list[i] = strings.ReplaceAll(format, "%d", fmt.Sprint(i))
			}
			status, answer := b.Post(
				"filter",
				[]byte(`{"Pod":{"metadata":{"name":"p"},"spec":{"schedulerName":"default-scheduler"}},"NodeNames":[`+strings.Join(list, ",")+`]}`),
			)
			if status != want {
				t.Errorf("%d %s names: answered %d %.200s, want %d", names, what, status, answer, want)
			}
			if why := "NodeNames: there are more than 1004 of them, and 2 nodes are known\n"; want == http.StatusBadRequest &&
				string(answer) != why {
				t.Errorf("answered %q, want %q", answer, why)
			}
		}
	}
}

func TestOfManyUnknownNodesFewAreAnsweredAbout(t *testing.T) {
	b := newBench(t, benchOptions{})
	b.Node("a", "4")
	var names []string
	whole := &corev1.NodeList{}
	for i := range 150 {
		names = append(names, fmt.Sprint("ghost-", i))
	}
	names = append(names, "a", strings.Repeat("n", 400))
	for _, name := range names {
		whole.Items = append(whole.Items, corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	got := b.Filter(servertest.Pod("p", "1"), names...)
	if len(got.FailedAndUnresolvableNodes) != keptUnknown || got.FailedAndUnresolvableNodes["ghost-99"] == "" ||
		fmt.Sprint(*got.NodeNames) != "[a]" {
		t.Errorf("answered %+v", got)
	}
	got = servertest.Ask[extenderv1.ExtenderFilterResult](
		b.Bench,
		"filter",
		extenderv1.ExtenderArgs{Pod: servertest.Pod("q", "1"), Nodes: whole},
	)
	if len(got.FailedAndUnresolvableNodes) != keptUnknown || len(got.Nodes.Items) != 1 || got.Nodes.Items[0].Name != "a" {
		t.Errorf("asked with objects: answered %d nodes, %d failed", len(got.Nodes.Items), len(got.FailedAndUnresolvableNodes))
	}
}
