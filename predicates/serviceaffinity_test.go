package predicates

import (
	"fmt"
	"maps"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"pgregory.net/rapid"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/seeded"
	"muster.dev/muster/cluster"
)

// placedOn says which node a pod is on, createdAt when it was created.
func placedOn(node string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.NodeName = node }
}

func createdAt(second int64) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.CreationTimestamp = metav1.Unix(second, 0) }
}

func TestServiceAffinity(t *testing.T) {
	const reason = "node(s) didn't match service affinity"
	web, db := wearing("app", "web"), wearing("app", "db")
	region := &config.ServiceAffinityArgs{AffinityLabels: []string{"region"}}
	regionAndRack := &config.ServiceAffinityArgs{AffinityLabels: []string{"region", "rack"}}
	south := node(labelled("region", "south"), labelled("rack", "1"))
	north := node(called("other"), labelled("region", "north"), labelled("rack", "1"))
	third := node(called("third"))
	webs := service("web", map[string]string{"app": "web"})
	// among asks about the node in the south for a pod of the service, where there are some already.
	among := func(placed ...*corev1.Pod) scene {
		return scene{node: south, others: []*corev1.Node{north, third}, objects: []runtime.Object{webs}, placed: placed, pod: pod(web)}
	}
	of := func(s scene, change ...func(*scene)) scene {
		for _, f := range change {
			f(&s)
		}
		return s
	}
	asked := func(change ...func(*corev1.Pod)) func(*scene) { return func(s *scene) { s.pod = pod(change...) } }
	selectedBy := func(services ...runtime.Object) func(*scene) { return func(s *scene) { s.objects = services } }
	elsewhere := func() *corev1.Pod { return pod(web, placedOn("other")) }
	checkVerdicts(t, config.ServiceAffinity, []verdictCase{
		{name: "the first pod of a service goes anywhere", args: region, scene: among()},
		{name: "a pod of no service is not concerned", args: region, scene: of(among(elsewhere()), asked(db)), everywhere: true},
		{name: "without labels no pod is", scene: among(elsewhere()), everywhere: true},
		{name: "a pod goes where the labels equal the labels of the first one's node", args: region, scene: among(pod(web))},
		{name: "it does not go elsewhere, and eviction does not help", args: region, scene: among(elsewhere()), reason: reason},
		{
			name:  "only the labels that are configured count",
			scene: among(elsewhere()),
			args:  &config.ServiceAffinityArgs{AffinityLabels: []string{"rack"}},
		},
		{name: "all of them must be the same", scene: among(elsewhere()), args: regionAndRack, reason: reason},
		{name: "pods of another service do not count", args: region, scene: among(pod(db, placedOn("other")))},
		{name: "nor do pods of another namespace", args: region, scene: among(pod(web, placedOn("other"), within("another")))},
		{name: "a label that the first one's node lacks may be anything", args: region, scene: among(pod(web, placedOn("third")))},
		{name: "an empty value is a value", args: region, reason: reason, scene: of(among(pod(web, placedOn("fourth"))), func(s *scene) {
			s.others = append(s.others, node(called("fourth"), labelled("region", "")))
		})},
		{
			name:  "the oldest pod is the first",
			args:  region,
			scene: among(pod(web, placedOn("other"), createdAt(2)), pod(web, createdAt(1)), pod(web, placedOn("other"), createdAt(3))),
		},
		{name: "of equals the one of the lesser UID is", args: region, scene: among(elsewhere(), pod(web)), reason: reason},

		{
			name:       "a service in another namespace selects no pod here",
			args:       region,
			everywhere: true,
			scene: of(among(elsewhere()), func(s *scene) {
				there := service("web", map[string]string{"app": "web"})
				there.Namespace = "another"
				s.objects = []runtime.Object{there}
			}),
		},
		{
			name:       "a service without a selector selects none",
			args:       region,
			everywhere: true,
			scene:      of(among(elsewhere()), selectedBy(service("headless", nil))),
		},
		{
			name:   "pods of any of its services count",
			args:   region,
			reason: reason,
			scene: of(
				among(pod(wearing("tier", "front"), placedOn("other"))), asked(web, wearing("tier", "front")),
				selectedBy(webs, service("front", map[string]string{"tier": "front"})),
			),
		},
		{
			name: "a new template does not part a pod from its service", args: region, reason: reason,
			scene: of(among(pod(web, wearing("pod-template-hash", "1"), placedOn("other"))), asked(web, wearing("pod-template-hash", "2"))),
		},

		{
			name:   "a label in the node selector must be as it is there",
			args:   region,
			scene:  of(among(), asked(db, selecting("region", "north"))),
			reason: reason,
		},
		{name: "and goes before that of the first pod", args: region, scene: of(among(elsewhere()), asked(web, selecting("region", "south")))},
		{
			name:  "the other labels still come from the first pod",
			args:  regionAndRack,
			scene: of(among(elsewhere()), asked(web, selecting("region", "south"))),
		},
		{
			name:       "other labels in the node selector do not matter",
			args:       region,
			scene:      of(among(), asked(db, selecting("disk", "ssd"))),
			everywhere: true,
		},
	})
}

// TestServiceAffinityIsThatOfTheOldestPodWhateverChanges holds what a store remembers
// against a search through the whole cluster.
func TestServiceAffinityIsThatOfTheOldestPodWhateverChanges(t *testing.T) {
	affinityLabels := []string{"region", "rack"}
	seeded.Check(t, func(t *rapid.T) {
		b := newStoreBench(t, 1<<30)
		profile, err := NewProfile(&config.Profile{
			SchedulerName: corev1.DefaultSchedulerName,
			Equivalence:   config.EquivalenceTemplate,
			Plugins: config.Plugins{Filter: config.PluginSet{
				Enabled: []config.Plugin{{Name: config.ServiceAffinity}}, Disabled: []config.Plugin{{Name: config.AllPlugins}},
			}},
			PluginConfig: []config.PluginConfig{
				{Name: config.ServiceAffinity, Args: &config.ServiceAffinityArgs{AffinityLabels: affinityLabels}},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		store := NewVerdictStore(profile, b.cluster, 1<<30, b.metrics, clock.RealClock{})
		draw := func(what string, choices ...string) string { return rapid.SampledFrom(choices).Draw(t, what) }
		set := func(object runtime.Object) {
			if err := b.cluster.Set(object); err != nil {
				t.Fatal(err)
			}
		}
		remove := func(object runtime.Object) {
			if err := b.cluster.Delete(object); err != nil {
				t.Fatal(err)
			}
		}
		drawnService := func() *corev1.Service {
			selector := map[string]string{"app": draw("app", "web", "db")}
			if tier := draw("tier", "", "front"); tier != "" {
				selector["tier"] = tier
			}
			s := service(draw("service", "a", "b", "c"), selector)
			s.Namespace = draw("namespace of the service", metav1.NamespaceDefault, "another")
			return s
		}
		drawnPod := func() *corev1.Pod {
			p := pod(
				wearing("app", draw("app", "web", "db")), wearing("tier", draw("tier", "front", "back")),
				createdAt(rapid.Int64Range(0, 3).Draw(t, "born")),
			)
			p.Namespace = draw("namespace of the pod", metav1.NamespaceDefault, "another")
			p.Name = draw("pod", "p", "q", "r", "s", "t")
			p.UID = types.UID(fmt.Sprintf("%s-%s-%d", p.Namespace, p.Name, p.CreationTimestamp.Unix()))
			return p
		}
		nodes := []string{"a", "b", "c", "d"}
		t.Repeat(map[string]func(*rapid.T){
			"set a node": func(*rapid.T) {
				n := node(called(draw("node", nodes...)))
				for _, key := range affinityLabels {
					if value := draw(key, "none", "", "1", "2"); value != "none" {
						labelled(key, value)(n)
					}
				}
				set(n)
			},
			"delete a node":    func(*rapid.T) { remove(node(called(draw("node", nodes...)))) },
			"set a service":    func(*rapid.T) { set(drawnService()) },
			"delete a service": func(*rapid.T) { remove(drawnService()) },
			"place a pod": func(*rapid.T) {
				p := drawnPod()
				placedOn(draw("node", nodes...))(p)
				set(p)
			},
			"delete a pod": func(*rapid.T) { remove(drawnPod()) },
			"": func(t *rapid.T) {
				asked := drawnPod()
				if region := draw("wanted region", "none", "none", "", "1"); region != "none" {
					selecting("region", region)(asked)
				}
				view := store.View(cluster.NewPod(asked))
				defer view.Close()
				wanted := labelsOfTheService(view.Snapshot, asked, affinityLabels)
				for node := range view.Snapshot.Nodes() {
					fits := labels.Set(wanted).AsSelector().Matches(labels.Set(node.Labels))
					if got := view.Verdict(node.Index); (got == Fits) != fits {
						t.Fatalf("on node %s of %v: %q, though %v is wanted", node.Name, node.Labels, new(Profile).Reason(got, nil), wanted)
					}
				}
			},
		})
	})
}

// labelsOfTheService returns the labels that a node must have to take a pod.
func labelsOfTheService(snap *cluster.Snapshot, pod *corev1.Pod, affinityLabels []string) map[string]string {
	var first *cluster.Pod
	var at *cluster.Node
	for _, service := range snap.Services.All() {
		selector := labels.SelectorFromSet(service.Spec.Selector)
		if service.Namespace != pod.Namespace || !selector.Matches(labels.Set(pod.Labels)) {
			continue
		}
		for node := range snap.Nodes() {
			for _, other := range node.Pods {
				if other.Namespace != pod.Namespace || !selector.Matches(labels.Set(other.Labels)) {
					continue
				}
				age := func(p *cluster.Pod) string { return p.CreationTimestamp.Format(time.RFC3339) + string(p.UID) }
				if first == nil || age(other) < age(first) {
					first, at = other, node
				}
			}
		}
	}
	wanted := map[string]string{}
	for _, key := range affinityLabels {
		if at == nil {
			break
		}
		if value, labelled := at.Labels[key]; labelled {
			wanted[key] = value
		}
	}
	for _, key := range affinityLabels {
		if value, given := pod.Spec.NodeSelector[key]; given {
			maps.Copy(wanted, map[string]string{key: value})
		}
	}
	return wanted
}
