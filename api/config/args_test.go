package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/api/config/strict"
)

// argsCase gives arguments and the outcome of reading them.
type argsCase struct {
	name string
	args PluginArgs // zero
	yaml string
	want string   // the arguments as JSON when they are right
	errs []string // else what is wrong
}

func TestArgsAreDefaultedAndValidated(t *testing.T) {
	checkArgs(t, []argsCase{
		{
			name: "inter-pod affinity weighs required terms by 1 unless said otherwise",
			args: new(InterPodAffinityArgs), yaml: "{}",
			want: `{"hardPodAffinityWeight":1,"ignorePreferredTermsOfExistingPods":false}`,
		},
		{
			name: "a weight of 0 for required terms is a weight",
			args: new(InterPodAffinityArgs), yaml: "{hardPodAffinityWeight: 0, ignorePreferredTermsOfExistingPods: true}",
			want: `{"hardPodAffinityWeight":0,"ignorePreferredTermsOfExistingPods":true}`,
		},
		{
			name: "100 is the largest weight of required terms",
			args: new(InterPodAffinityArgs), yaml: "hardPodAffinityWeight: 100",
			want: `{"hardPodAffinityWeight":100,"ignorePreferredTermsOfExistingPods":false}`,
		},
		{
			name: "more is refused",
			args: new(InterPodAffinityArgs), yaml: "hardPodAffinityWeight: 101",
			errs: []string{`args.hardPodAffinityWeight: Invalid value: 101: must be between 0 and 100`},
		},
		{
			name: "less is refused",
			args: new(InterPodAffinityArgs), yaml: "hardPodAffinityWeight: -1",
			errs: []string{`args.hardPodAffinityWeight: Invalid value: -1: must be between 0 and 100`},
		},
		{
			name: "the default constraints of topology spread are the system's",
			args: new(PodTopologySpreadArgs), yaml: "{}",
			want: `{"defaultingType":"System"}`,
		},
		{
			name: "a list of default constraints may be empty",
			args: new(PodTopologySpreadArgs), yaml: "{defaultingType: List}",
			want: `{"defaultingType":"List"}`,
		},
		{
			name: "a list of default constraints may have a hard and a soft one for the same domains",
			args: new(PodTopologySpreadArgs),
			yaml: `
defaultingType: List
defaultConstraints:
- {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, minDomains: 2, nodeTaintsPolicy: Honor}
- {maxSkew: 2, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, nodeAffinityPolicy: Ignore}`,
			want: `{"defaultConstraints":[` +
				`{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule","minDomains":2,"nodeTaintsPolicy":"Honor"},` +
				`{"maxSkew":2,"topologyKey":"zone","whenUnsatisfiable":"ScheduleAnyway","nodeAffinityPolicy":"Ignore"}],"defaultingType":"List"}`,
		},
		{
			name: "a list without its type is refused, as kube-scheduler does",
			args: new(PodTopologySpreadArgs),
			yaml: "defaultConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]",
			errs: []string{`args.defaultingType: Invalid value: "System": must be List when there are defaultConstraints`},
		},
		{
			name: "each mistake in default constraints is named",
			args: new(PodTopologySpreadArgs),
			yaml: `
defaultingType: list
defaultConstraints:
- {maxSkew: 0, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}
- {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {}}
- {maxSkew: 1, topologyKey: a/b/c, whenUnsatisfiable: Never}
- {maxSkew: 1, whenUnsatisfiable: ScheduleAnyway, nodeAffinityPolicy: honor, nodeTaintsPolicy: ""}`,
			errs: []string{
				`args.defaultingType: Unsupported value: "list": did you mean List? supported values: "System", "List"`,
				`args.defaultConstraints[0].maxSkew: Invalid value: 0: must be greater than zero`,
				`args.defaultConstraints[1].labelSelector: Forbidden: it follows from the services and the controller of each pod`,
				`args.defaultConstraints[1]: Duplicate value: "zone with DoNotSchedule"`,
				`args.defaultConstraints[2].topologyKey: Invalid value: "a/b/c": ` + notALabelKey,
				`args.defaultConstraints[2].whenUnsatisfiable: Unsupported value: "Never": supported values: "DoNotSchedule", "ScheduleAnyway"`,
				`args.defaultConstraints[3].topologyKey: Required value: name a label of nodes such as topology.kubernetes.io/zone`,
				`args.defaultConstraints[3].nodeAffinityPolicy: Unsupported value: "honor": did you mean Honor? supported values: "Honor", "Ignore"`,
				`args.defaultConstraints[3].nodeTaintsPolicy: Unsupported value: "": supported values: "Honor", "Ignore"`,
			},
		},
		{
			name: "service affinity takes the labels of nodes",
			args: new(ServiceAffinityArgs), yaml: "affinityLabels: [topology.kubernetes.io/zone, rack]",
			want: `{"affinityLabels":["topology.kubernetes.io/zone","rack"]}`,
		},
		{
			name: "service affinity needs a label",
			args: new(ServiceAffinityArgs), yaml: "{}",
			errs: []string{`args.affinityLabels: Required value: name a label of nodes such as topology.kubernetes.io/zone`},
		},
		{
			name: "labels of service affinity are label keys, each named once",
			args: new(ServiceAffinityArgs), yaml: "affinityLabels: [rack, a/b/c, rack]",
			errs: []string{
				`args.affinityLabels[1]: Invalid value: "a/b/c": ` + notALabelKey,
				`args.affinityLabels[2]: Duplicate value: "rack"`,
			},
		},
		{
			name: "whole domains are those of one or several levels",
			args: new(WholeDomainsArgs), yaml: "levels: [example.com/block, example.com/rack]",
			want: `{"levels":["example.com/block","example.com/rack"]}`,
		},
		{
			name: "without a level there is no domain",
			args: new(WholeDomainsArgs), yaml: "{}",
			errs: []string{`args.levels: Required value: name the label of nodes that tells racks apart, such as example.com/rack`},
		},
		{
			name: "there are three levels at most",
			args: new(WholeDomainsArgs), yaml: "levels: [a, b, c, d]",
			errs: []string{`args.levels: Too many: 4: must have at most 3 items`},
		},
		{
			name: "levels are label keys, each named once",
			args: new(WholeDomainsArgs), yaml: "levels: [rack, a/b/c, rack]",
			errs: []string{
				`args.levels[1]: Invalid value: "a/b/c": ` + notALabelKey,
				`args.levels[2]: Duplicate value: "rack"`,
			},
		},
	})
}

func checkArgs(t *testing.T, tests []argsCase) {
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			document, err := yaml.YAMLToJSONStrict([]byte(test.yaml))
			if err != nil {
				t.Fatal(err)
			}
			path := field.NewPath("args")
			if errs := strict.Decode(path, document, test.args); len(errs) > 0 {
				t.Fatal(errs.ToAggregate())
			}
			test.args.setDefaults()
			var errs []string
			for _, err := range test.args.validate(path) {
				errs = append(errs, err.Error())
			}
			if diff := cmp.Diff(test.errs, errs); diff != "" {
				t.Errorf("errors, want (-) got (+):\n%s", diff)
			}
			if len(errs) > 0 {
				return
			}
			got, err := json.Marshal(test.args)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(got)); diff != "" {
				t.Errorf("arguments, want (-) got (+):\n%s", diff)
			}
		})
	}
}

const notALabelKey = `a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an ` +
	`alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is ` +
	`'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`

// TestArgsOfEveryPluginAreTested looks for the type of each plugin's arguments in the tests.
func TestArgsOfEveryPluginAreTested(t *testing.T) {
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var tests strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tests.Write(text)
	}
	for _, plugin := range KnownPlugins() {
		if plugin.NewArgs == nil {
			continue
		}
		if args := reflect.TypeOf(plugin.NewArgs()).Elem().Name(); !strings.Contains(tests.String(), args) {
			t.Errorf("no test has arguments of %s, which are %s", plugin.Name, args)
		}
	}
}
