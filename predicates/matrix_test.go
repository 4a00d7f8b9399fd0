package predicates

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

var updateMatrix = flag.Bool("update", false, "write the invalidation matrix into its page instead of comparing with it")

// The matrix stands on its page between two lines.
const (
	matrixPage  = "../docs/concepts/equivalence-classes.md"
	matrixBegin = "<!-- The matrix is written by: go test ./predicates -run InvalidationMatrix -update -->\n"
	matrixEnd   = "<!-- The end of the matrix. -->\n"
)

func TestTheInvalidationMatrixOnItsPageIsThatOfThePlugins(t *testing.T) {
	page, err := os.ReadFile(matrixPage)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, begun := strings.Cut(string(page), matrixBegin)
	_, tail, ended := strings.Cut(rest, matrixEnd)
	if !begun || !ended {
		t.Fatalf("%s lacks the lines around the matrix:\n%s%s", matrixPage, matrixBegin, matrixEnd)
	}
	want := head + matrixBegin + invalidationMatrix(t) + matrixEnd + tail
	if *updateMatrix {
		if err := os.WriteFile(matrixPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(strings.Split(string(page), "\n"), strings.Split(want, "\n")); diff != "" {
		t.Errorf("%s is stale; -update writes it (-page +plugins):\n%s", matrixPage, diff)
	}
}

// invalidationMatrix is a Markdown table with a row for each predicate and each score
// that there is, with default arguments.
func invalidationMatrix(t *testing.T) string {
	t.Helper()
	profile, err := NewProfile(
		withEveryPlugin(
			profileWith(config.ServiceAffinity, &config.ServiceAffinityArgs{AffinityLabels: []string{corev1.LabelTopologyRegion}}),
		),
	)
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	row := func(cells ...any) { fmt.Fprintf(&table, "| %s | %s | %s | %s | %s |\n", cells...) }
	row("plugin", "", "the node itself", "other nodes", "all nodes")
	row("---", "---", "---", "---", "---")
	prepared := preparedPlugins(t, profile)
	for i, d := range profile.Dependencies() {
		ofNode, ofObjects := d.Aspects&cluster.AspectNode, d.Aspects&^cluster.AspectNode
		switch prepared[i].(type) {
		case nil:
			t.Fatalf("the %s %s has nothing to say of the pod of concerningEveryPlugin", d.Kind, d.Plugin)
		case Spanning:
			row(d.Plugin, d.Kind, listed(ofNode), listed(ofNode), listed(ofObjects))
		case Comparison:
			row(d.Plugin, d.Kind+", compares", listed(ofNode), "", listed(ofObjects))
		default:
			row(d.Plugin, d.Kind, listed(ofNode), "", listed(ofObjects))
		}
	}
	return table.String()
}

// preparedPlugins are the checks of a profile and what rates nodes for it, in the order
// of its dependencies.
func preparedPlugins(t *testing.T, profile *Profile) []any {
	t.Helper()
	snap, _, pod := concerningEveryPlugin().raise(t)
	judgement := profile.Judge(pod, snap)
	var prepared []any
	for _, check := range judgement.checks {
		prepared = append(prepared, check)
	}
	for _, rating := range judgement.ratings {
		switch {
		case rating.Among != nil:
			prepared = append(prepared, rating.Among)
		case rating.Alone != nil:
			prepared = append(prepared, rating.Alone)
		default:
			prepared = append(prepared, nil)
		}
	}
	return prepared
}

func listed(aspects cluster.Aspect) string { return strings.ReplaceAll(aspects.String(), ",", ", ") }

// concerningEveryPlugin has a pod that concerns every plugin: only a check prepared for a pod shows whether it
// looks at other nodes.
func concerningEveryPlugin() scene {
	pod := demandingPod("pod", "node")
	affinity := pod.Spec.Affinity
	affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = []corev1.PreferredSchedulingTerm{
		preferredTerm(1, label("disk", corev1.NodeSelectorOpExists)),
	}
	affinity.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution = []corev1.WeightedPodAffinityTerm{
		{Weight: 1, PodAffinityTerm: inTheZoneOf("cache")},
	}
	spreadBy(corev1.LabelTopologyZone, 1, corev1.ScheduleAnyway)(pod)
	inUserNamespace(pod)
	pod.Spec.Containers[0].Resources.Requests["example.com/gpu"] = resource.MustParse("1")
	return scene{pod: pod, objects: []runtime.Object{
		gpuClass("gpu", "example.com/gpu"),
		dataIn("a"), claim("data", fullyBoundTo("data")), service("web", map[string]string{"app": "web"}),
	}}
}
