package campaign

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"muster.dev/muster/api/seeded"
)

func TestAScriptIsAFunctionOfItsSeed(t *testing.T) {
	exported := cmp.AllowUnexported(script{}, event{}, origin{})
	one := write(7, 20, time.Minute)
	if diff := cmp.Diff(one, write(7, 20, time.Minute), exported); diff != "" {
		t.Errorf("the same seed gives two scripts (-one +other):\n%s", diff)
	}
	if cmp.Equal(one, write(8, 20, time.Minute), exported) {
		t.Error("two seeds give the same script")
	}
}

func TestAScriptIsAboutWhatIsThereAndLeavesRoomInCalmSeasons(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		length := time.Duration(rapid.IntRange(10, 100).Draw(t, "seconds")) * time.Second
		s := write(rapid.Uint64().Draw(t, "seed"), rapid.IntRange(fewest, 150).Draw(t, "nodes"), length)
		present, nodes, room := map[string]bool{}, map[string]size{}, size{}
		pods, load := map[string]size{}, size{}
		addNode := func(name string, offers size) {
			if known, ok := nodes[name]; ok && known != offers {
				t.Fatalf("node %s returns with other room: %v, not %v", name, offers, known)
			}
			present[name], nodes[name] = true, offers
			room = room.plus(offers)
		}
		for _, n := range s.nodes {
			addNode(n.Name, offered(n))
		}
		at := time.Duration(0)
		for _, e := range s.events {
			if e.at < at || e.at >= length {
				t.Fatalf("an event at %s after one at %s, in a script of %s", e.at, at, length)
			}
			at = e.at
			switch e.kind {
			case podCreated:
				if s.pods[e.pod.Name].scheduler != e.pod.Spec.SchedulerName {
					t.Fatalf("pod %s: %s says the script, %s the pod", e.pod.Name, s.pods[e.pod.Name].scheduler, e.pod.Spec.SchedulerName)
				}
				pods[e.pod.Name] = size{e.pod.Spec.Containers[0].Resources.Requests.Cpu().MilliValue(), 1}
				load = load.plus(pods[e.pod.Name])
				// Nodes that are lost later take their room with them, so this is when it counts.
				if s.pods[e.pod.Name].season == calm && load.of(room) > 0.5 {
					t.Fatalf("%s: %.2f of the cluster is asked for in a calm season", e.at, load.of(room))
				}
			case podDeleted, podFinished:
				asked, ok := pods[e.name]
				if !ok {
					t.Fatalf("%s: pod %s is not there", e.at, e.name)
				}
				if e.kind == podDeleted {
					load = load.minus(asked)
					delete(pods, e.name)
				}
			case nodeAdded:
				if present[e.node.Name] {
					t.Fatalf("%s: node %s is there already", e.at, e.node.Name)
				}
				addNode(e.node.Name, offered(e.node))
			case nodeLost:
				if !present[e.name] {
					t.Fatalf("%s: node %s is not there", e.at, e.name)
				}
				delete(present, e.name)
				room = room.minus(nodes[e.name])
			case musterKilled:
				if e.down > downTime {
					t.Fatalf("muster is down for %s", e.down)
				}
			}
		}
	})
}

func TestEveryScriptHasSomethingOfAllKindsInIt(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		s := write(rapid.Uint64().Draw(t, "seed"), 80, 12*time.Second)
		kinds := map[kind]int{}
		asked := map[season]int64{}
		var offers int64
		for _, n := range s.nodes {
			offers += offered(n).milliCPU
		}
		for _, e := range s.events {
			kinds[e.kind]++
			if e.kind == podCreated {
				asked[s.pods[e.pod.Name].season] += e.pod.Spec.Containers[0].Resources.Requests.Cpu().MilliValue()
			}
		}
		for _, k := range []kind{podCreated, podDeleted, podFinished, musterKilled} {
			if kinds[k] == 0 {
				t.Errorf("nothing of kind %d", k)
			}
		}
		if asked[crowded] < offers/2 {
			t.Errorf("%d milli CPU are asked for in the crowded season, of %d", asked[crowded], offers)
		}
	})
}
