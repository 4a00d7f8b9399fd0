package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

func selecting(key string, operator metav1.LabelSelectorOperator, values ...string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: operator, Values: values}}}
}

// The pod with the term is in the namespace "default".
func TestAffinityTermMatches(t *testing.T) {
	everything := &metav1.LabelSelector{}
	web := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	teamA := &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}
	tests := []struct {
		name            string
		term            corev1.PodAffinityTerm
		namespace       string
		namespaceLabels labels.Set
		labels          map[string]string
		want            bool
	}{
		{
			name:      "without namespaces it is about pods of the own one",
			term:      corev1.PodAffinityTerm{LabelSelector: web},
			namespace: "default", labels: map[string]string{"app": "web"},
			want: true,
		},
		{
			name:      "without namespaces it is not about pods of others",
			term:      corev1.PodAffinityTerm{LabelSelector: web},
			namespace: "other", labels: map[string]string{"app": "web"},
		},
		{
			name:      "a pod whose labels the selector does not select is not matched",
			term:      corev1.PodAffinityTerm{LabelSelector: web},
			namespace: "default", labels: map[string]string{"app": "db"},
		},
		{
			name:      "a pod without labels is not matched by a selector that asks for one",
			term:      corev1.PodAffinityTerm{LabelSelector: web},
			namespace: "default",
		},
		{
			name:      "a pod without labels is matched by a selector that excludes one",
			term:      corev1.PodAffinityTerm{LabelSelector: selecting("app", metav1.LabelSelectorOpNotIn, "web")},
			namespace: "default",
			want:      true,
		},
		{
			name:      "no label selector matches no pod",
			term:      corev1.PodAffinityTerm{},
			namespace: "default", labels: map[string]string{"app": "web"},
		},
		{
			name:      "an empty label selector matches every pod",
			term:      corev1.PodAffinityTerm{LabelSelector: everything},
			namespace: "default",
			want:      true,
		},
		{
			name:      "a namespace in the list is meant",
			term:      corev1.PodAffinityTerm{LabelSelector: everything, Namespaces: []string{"two", "one", "two"}},
			namespace: "two",
			want:      true,
		},
		{
			name:      "with a list the own namespace is not meant",
			term:      corev1.PodAffinityTerm{LabelSelector: everything, Namespaces: []string{"one", "two"}},
			namespace: "default",
		},
		{
			name:      "a namespace with the labels is meant",
			term:      corev1.PodAffinityTerm{LabelSelector: everything, NamespaceSelector: teamA},
			namespace: "other", namespaceLabels: labels.Set{"team": "a"},
			want: true,
		},
		{
			name:      "a namespace with other labels is not meant",
			term:      corev1.PodAffinityTerm{LabelSelector: everything, NamespaceSelector: teamA},
			namespace: "other", namespaceLabels: labels.Set{"team": "b"},
		},
		{
			name:      "with a namespace selector the own namespace needs the labels too",
			term:      corev1.PodAffinityTerm{LabelSelector: everything, NamespaceSelector: teamA},
			namespace: "default",
		},
		{
			name:      "list and namespace selector add up: the list",
			term:      corev1.PodAffinityTerm{LabelSelector: everything, Namespaces: []string{"one"}, NamespaceSelector: teamA},
			namespace: "one",
			want:      true,
		},
		{
			name:      "list and namespace selector add up: the selector",
			term:      corev1.PodAffinityTerm{LabelSelector: everything, Namespaces: []string{"one"}, NamespaceSelector: teamA},
			namespace: "two", namespaceLabels: labels.Set{"team": "a"},
			want: true,
		},
		{
			name:      "an empty namespace selector means every namespace",
			term:      corev1.PodAffinityTerm{LabelSelector: everything, NamespaceSelector: everything},
			namespace: "other",
			want:      true,
		},
		{
			name:      "a namespace that is not known has no labels",
			term:      corev1.PodAffinityTerm{LabelSelector: everything, NamespaceSelector: selecting("team", metav1.LabelSelectorOpDoesNotExist)},
			namespace: "other",
			want:      true,
		},
		{
			name:      "matchLabelKeys are left to the API server",
			term:      corev1.PodAffinityTerm{LabelSelector: everything, MatchLabelKeys: []string{"app"}, MismatchLabelKeys: []string{"tier"}},
			namespace: "default", labels: map[string]string{"app": "db", "tier": "1"},
			want: true,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			owner := NewPod(podObject("owner", func(p *corev1.Pod) {
				p.Labels["tier"] = "1"
				p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{tt.term},
				}}
			}))
			other := NewPod(podObject("other", func(p *corev1.Pod) { p.Namespace, p.Labels = tt.namespace, tt.labels }))
			if owner.Affinity.Err != nil {
				t.Fatal(owner.Affinity.Err)
			}
			if got := owner.Affinity.Required[0].Matches(other, tt.namespaceLabels); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestAffinityOfAPod(t *testing.T) {
	term := func(key string) corev1.PodAffinityTerm {
		return corev1.PodAffinityTerm{TopologyKey: key, LabelSelector: &metav1.LabelSelector{}}
	}
	weighted := func(weight int32, key string) corev1.WeightedPodAffinityTerm {
		return corev1.WeightedPodAffinityTerm{Weight: weight, PodAffinityTerm: term(key)}
	}
	broken := term("broken")
	broken.LabelSelector = selecting("app", metav1.LabelSelectorOpIn)
	brokenNamespaces := term("broken")
	brokenNamespaces.NamespaceSelector = selecting("app", "Like", "web")
	type weightedKey struct {
		Weight int32
		Key    string
	}
	type summary struct {
		Required, RequiredAnti   []string
		Preferred, PreferredAnti []weightedKey
		Err                      string
	}
	tests := []struct {
		name     string
		affinity *corev1.Affinity
		want     *summary
	}{
		{name: "a pod without affinity has none"},
		{name: "a pod with node affinity alone has none", affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}}},
		{
			name: "every list keeps its terms in order",
			affinity: &corev1.Affinity{
				PodAffinity: &corev1.PodAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution:  []corev1.PodAffinityTerm{term("a"), term("b")},
					PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{weighted(1, "c"), weighted(2, "d")},
				},
				PodAntiAffinity: &corev1.PodAntiAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution:  []corev1.PodAffinityTerm{term("e")},
					PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{weighted(100, "f")},
				},
			},
			want: &summary{
				Required: []string{"a", "b"}, RequiredAnti: []string{"e"},
				Preferred: []weightedKey{{1, "c"}, {2, "d"}}, PreferredAnti: []weightedKey{{100, "f"}},
			},
		},
		{
			name: "a selector that does not parse empties its list and no other",
			affinity: &corev1.Affinity{
				PodAffinity: &corev1.PodAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution:  []corev1.PodAffinityTerm{term("a")},
					PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{weighted(1, "c")},
				},
				PodAntiAffinity: &corev1.PodAntiAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution:  []corev1.PodAffinityTerm{term("e"), broken},
					PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{PodAffinityTerm: brokenNamespaces}},
				},
			},
			want: &summary{
				Required:  []string{"a"},
				Preferred: []weightedKey{{1, "c"}},
				Err: `[requiredAntiAffinityTerms: values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty, ` +
					`preferredAntiAffinityTerms: "Like" is not a valid label selector operator]`,
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			affinity := NewPod(podObject("p", func(p *corev1.Pod) { p.Spec.Affinity = tt.affinity })).Affinity
			var got *summary
			if affinity != nil {
				got = &summary{}
				for _, term := range affinity.Required {
					got.Required = append(got.Required, term.TopologyKey)
				}
				for _, term := range affinity.RequiredAnti {
					got.RequiredAnti = append(got.RequiredAnti, term.TopologyKey)
				}
				for _, term := range affinity.Preferred {
					got.Preferred = append(got.Preferred, weightedKey{term.Weight, term.TopologyKey})
				}
				for _, term := range affinity.PreferredAnti {
					got.PreferredAnti = append(got.PreferredAnti, weightedKey{term.Weight, term.TopologyKey})
				}
				if affinity.Err != nil {
					got.Err = affinity.Err.Error()
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("affinity (-want +got):\n%s", diff)
			}
		})
	}
}
