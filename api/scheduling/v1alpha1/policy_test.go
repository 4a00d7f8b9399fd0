package v1alpha1

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

func TestDecodePolicy(t *testing.T) {
	ps, workers := types.NamespacedName{Namespace: "a", Name: "ps"}, types.NamespacedName{Namespace: "a", Name: "workers"}
	byDefault := func(groups ...types.NamespacedName) Policy {
		return Policy{MatchPolicy: MatchWaitingAndBound, GangMode: GangStrict, Groups: groups}
	}
	tests := []struct {
		name        string
		annotations map[string]string
		want        Policy
		errors      []string
	}{
		{name: "nothing said", want: byDefault()},
		{
			name:        "everything said",
			annotations: map[string]string{AnnotationMatchPolicy: "once-satisfied", AnnotationGangMode: "NonStrict", AnnotationGroups: `["a/ps"]`},
			want:        Policy{MatchPolicy: MatchOnceSatisfied, GangMode: GangNonStrict, Groups: []types.NamespacedName{ps}},
		},
		{
			name:        "others are left alone for a while",
			annotations: map[string]string{AnnotationPreemptAfter: "2m"},
			want:        Policy{MatchPolicy: MatchWaitingAndBound, GangMode: GangStrict, PreemptAfter: 2 * time.Minute},
		},
		{
			name:        "only waiting members count",
			annotations: map[string]string{AnnotationMatchPolicy: "only-waiting"},
			want:        Policy{MatchPolicy: MatchOnlyWaiting, GangMode: GangStrict},
		},
		{
			name:        "groups are in order, each once",
			annotations: map[string]string{AnnotationGroups: `["a/workers", "a/ps", "a/workers"]`},
			want:        byDefault(ps, workers),
		},
		{
			name:        "Koordinator's groups",
			annotations: map[string]string{AnnotationKoordinatorGroups: `["a/ps","a/workers"]`},
			want:        byDefault(ps, workers),
		},
		{
			name:        "muster's groups count if both are there",
			annotations: map[string]string{AnnotationKoordinatorGroups: "none", AnnotationGroups: `["a/ps"]`},
			want:        byDefault(ps),
		},
		{name: "an empty list", annotations: map[string]string{AnnotationGroups: "[]"}, want: byDefault()},
		{
			name: "what it asks of the network",
			annotations: map[string]string{
				AnnotationRequiredTopology: "zone", AnnotationPreferredTopology: "example.com/block",
				AnnotationTopologySlices: "32@example.com/block,16@rack,4@kubernetes.io/hostname", AnnotationBalancedTopology: "rack",
			},
			want: Policy{MatchPolicy: MatchWaitingAndBound, GangMode: GangStrict, Topology: Topology{
				Levels: []string{"zone", "example.com/block", "rack"}, Required: 1, Preferred: 2, WaitFor: DefaultTopologyWait, Balanced: 3,
				Slices: []TopologySlice{{32, 2}, {16, 3}, {4, 4}},
			}},
		},
		{
			name:        "one node for all",
			annotations: map[string]string{AnnotationRequiredTopology: "kubernetes.io/hostname"},
			want:        Policy{MatchPolicy: MatchWaitingAndBound, GangMode: GangStrict, Topology: Topology{Required: 1}},
		},
		{
			name: "Kueue's words for the network",
			annotations: map[string]string{
				AnnotationKueuePreferredTopology: "block", AnnotationKueueSliceTopology: "rack", AnnotationKueueSliceSize: "8",
			},
			want: Policy{MatchPolicy: MatchWaitingAndBound, GangMode: GangStrict, Topology: Topology{
				Levels: []string{"block", "rack"}, Preferred: 1, Slices: []TopologySlice{{8, 2}},
			}},
		},
		{
			name:        "shares",
			annotations: map[string]string{AnnotationRequiredTopology: "block", AnnotationTopologyShares: "8,16,16@rack"},
			want: Policy{MatchPolicy: MatchWaitingAndBound, GangMode: GangStrict, Topology: Topology{
				Levels: []string{"block", "rack"}, Required: 1, Shares: []int{8, 16, 16}, SharesLevel: 2,
			}},
		},
		{
			name:        "shares that are none",
			annotations: map[string]string{AnnotationTopologyShares: "8,0@rack"},
			errors: []string{
				`metadata.annotations[muster.dev/topology-shares]: Invalid value: "8,0@rack": must be as 8,16,16@KEY: how many pods have nodes ` +
					`with the same label, for each of as many labels`,
			},
		},
		{
			name:        "how long it waits",
			annotations: map[string]string{AnnotationKueuePreferredTopology: "rack", AnnotationTopologyWaitFor: "90s"},
			want: Policy{MatchPolicy: MatchWaitingAndBound, GangMode: GangStrict, Topology: Topology{
				Levels: []string{"rack"}, Preferred: 1, WaitFor: 90 * time.Second,
			}},
		},
		{
			name:        "how long it waits for room in time",
			annotations: map[string]string{AnnotationReserveAfter: "30m"},
			want:        Policy{MatchPolicy: MatchWaitingAndBound, GangMode: GangStrict, ReserveAfter: 30 * time.Minute},
		},
		{
			name:        "no room in time",
			annotations: map[string]string{AnnotationReserveAfter: "0"},
			want:        Policy{MatchPolicy: MatchWaitingAndBound, GangMode: GangStrict, ReserveAfter: ReserveNever},
		},
		{
			name:        "less than no time",
			annotations: map[string]string{AnnotationReserveAfter: "-1s"},
			errors: []string{
				`metadata.annotations[muster.dev/reserve-after]: Invalid value: "-1s": must be a duration such as "30m", or "0", which is never`,
			},
		},
		{
			name:        "for how long it cannot wait",
			annotations: map[string]string{AnnotationPreferredTopology: "rack", AnnotationTopologyWaitFor: "-1s"},
			errors: []string{
				`metadata.annotations[muster.dev/topology-wait-for]: Invalid value: "-1s": must be a duration such as "5m", or "0s"`,
			},
		},
		{
			name: "a network that makes no sense",
			annotations: map[string]string{
				AnnotationRequiredTopology: "no key", AnnotationPreferredTopology: "", AnnotationTopologySlices: "many@rack",
			},
			errors: []string{
				`metadata.annotations[muster.dev/required-topology]: Invalid value: "no key": must be the key of a label of nodes, such as ` +
					`topology.kubernetes.io/zone`,
				`metadata.annotations[muster.dev/preferred-topology]: Invalid value: "": must be the key of a label of nodes, such as ` +
					`topology.kubernetes.io/zone`,
				`metadata.annotations[muster.dev/topology-slices]: Invalid value: "many@rack": must be as 16@KEY: how many pods have nodes ` +
					`with the same label`,
			},
		},
		{
			name:        "too many slices",
			annotations: map[string]string{AnnotationTopologySlices: "16@a,8@b,4@c,2@d"},
			errors:      []string{`metadata.annotations[muster.dev/topology-slices]: Too many: 4: must have at most 3 items`},
		},
		{
			name: "too many levels",
			annotations: map[string]string{
				AnnotationRequiredTopology: "a", AnnotationPreferredTopology: "b", AnnotationTopologySlices: "16@c,8@d",
			},
			errors: []string{`metadata.annotations[muster.dev/required-topology]: Too many: 4: must have at most 3 items`},
		},
		{
			name: "values that are not known",
			annotations: map[string]string{
				AnnotationMatchPolicy: "waiting", AnnotationGangMode: "strict", AnnotationGroups: `["ps", "a/", "/ps", "a/b/c", "a/ps"]`,
			},
			errors: []string{
				`metadata.annotations[muster.dev/match-policy]: Unsupported value: "waiting": supported values: "waiting-and-bound", ` +
					`"once-satisfied", "only-waiting"`,
				`metadata.annotations[muster.dev/gang-mode]: Unsupported value: "strict": supported values: "Strict", "NonStrict"`,
				`metadata.annotations[muster.dev/groups][0]: Invalid value: "ps": must be namespace/name`,
				`metadata.annotations[muster.dev/groups][1]: Invalid value: "a/": must be namespace/name`,
				`metadata.annotations[muster.dev/groups][2]: Invalid value: "/ps": must be namespace/name`,
				`metadata.annotations[muster.dev/groups][3]: Invalid value: "a/b/c": must be namespace/name`,
			},
		},
		{
			name: "what speaks to a terminal",
			annotations: map[string]string{
				AnnotationMatchPolicy: "\x1b[2J\u009b", AnnotationGroups: `["a/\u001b[2J\nFORGED", "A/ps", "a/Trains_2"]`,
			},
			errors: []string{
				"metadata.annotations[muster.dev/match-policy]: Unsupported value: \"\ufffd[2J\ufffd\": supported values: \"waiting-and-bound\", " +
					"\"once-satisfied\", \"only-waiting\"",
				"metadata.annotations[muster.dev/groups][0]: Invalid value: \"a/\ufffd[2J\ufffdFORGED\": must be namespace/name",
				`metadata.annotations[muster.dev/groups][1]: Invalid value: "A/ps": must be namespace/name`,
			},
		},
		{
			name:        "groups that are not a list",
			annotations: map[string]string{AnnotationKoordinatorGroups: "a/ps,a/workers"},
			errors: []string{
				`metadata.annotations[gang.scheduling.koordinator.sh/groups]: Invalid value: "a/ps,a/workers": must be a JSON list such as ` +
					`["namespace/name"]`,
			},
		},
		{
			name:        "more groups than start together",
			annotations: map[string]string{AnnotationGroups: `[` + entries(101, `"a/%d"`) + `]`},
			errors:      []string{`metadata.annotations[muster.dev/groups]: Too many: 101: must have at most 100 items`},
		},
		{
			name:        "a list that is longer than their names",
			annotations: map[string]string{AnnotationGroups: `[` + entries(20_000, `""`) + `]`},
			errors:      []string{`metadata.annotations[muster.dev/groups]: Too long: may not be more than 32768 bytes`},
		},
		{
			name:        "a word that is long",
			annotations: map[string]string{AnnotationGangMode: strings.Repeat("x", 1000)},
			errors: []string{
				`metadata.annotations[muster.dev/gang-mode]: Unsupported value: "` + strings.Repeat(
					"x", 64,
				) + `…": supported values: "Strict", "NonStrict"`,
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := DecodePolicy(test.annotations)
			if diff := cmp.Diff(test.errors, messages(err)); diff != "" {
				t.Errorf("errors, want (-) got (+):\n%s", diff)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("want (-) got (+):\n%s", diff)
			}
		})
	}
}

func TestDecodeMinMember(t *testing.T) {
	invalid := func(value string) string {
		return `metadata.annotations[muster.dev/min-member]: Invalid value: "` + value + `": must be an integer from 1 to 2147483647`
	}
	tests := []struct {
		name        string
		annotations map[string]string
		want        int32
		err         string
	}{
		{name: "a pod that does not say"},
		{name: "a minimum", annotations: map[string]string{AnnotationMinMember: "4"}, want: 4},
		{name: "none", annotations: map[string]string{AnnotationMinMember: "0"}, err: invalid("0")},
		{name: "a word", annotations: map[string]string{AnnotationMinMember: "four"}, err: invalid("four")},
		{name: "nothing", annotations: map[string]string{AnnotationMinMember: ""}, err: invalid("")},
		{name: "too much", annotations: map[string]string{AnnotationMinMember: "2147483648"}, err: invalid("2147483648")},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := DecodeMinMember(test.annotations)
			if got != test.want {
				t.Errorf("%d, want %d", got, test.want)
			}
			switch {
			case err == nil && test.err == "":
			case err == nil || err.Error() != test.err:
				t.Errorf("error %v, want %s", err, test.err)
			}
		})
	}
}
