package kubescheduler

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

const header = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"

func TestConvert(t *testing.T) {
	for _, test := range []struct {
		name, document, want string
		warnings             []string
	}{
		{name: "nothing said", document: header, want: "apiVersion: config.muster.dev/v1alpha2\nkind: MusterConfiguration\n"},
		{
			name: "a profile of each kind of pod",
			document: header + `
leaderElection: {leaderElect: true}
percentageOfNodesToScore: 50
profiles:
- schedulerName: default-scheduler
  plugins: {queueSort: {enabled: [{name: PrioritySort}]}}
- schedulerName: batch
  plugins:
    queueSort: {enabled: [{name: PrioritySort}]}
    multiPoint: {enabled: [{name: Mine}], disabled: [{name: ImageLocality}]}
    filter: {disabled: [{name: NodePorts}]}
    score: {enabled: [{name: NodeResourcesFit, weight: 5}]}
  pluginConfig:
  - name: NodeResourcesFit
    args:
      apiVersion: kubescheduler.config.k8s.io/v1
      kind: NodeResourcesFitArgs
      scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}
  - name: DefaultPreemption
    args: {minCandidateNodesPercentage: 100}
`,
			want: `apiVersion: config.muster.dev/v1alpha2
kind: MusterConfiguration
profiles:
- plugins: {}
  schedulerName: default-scheduler
- pluginConfig:
  - args:
      scoringStrategy:
        resources:
        - name: cpu
          weight: 1
        type: MostAllocated
    name: NodeResourcesFit
  plugins:
    filter:
      disabled:
      - name: NodePorts
    score:
      disabled:
      - name: ImageLocality
      enabled:
      - name: NodeResourcesFit
        weight: 5
  schedulerName: batch
`,
			warnings: []string{
				"leaderElection, percentageOfNodesToScore: these stay with kube-scheduler",
				"profiles[0].plugins.queueSort.enabled[0].name: PrioritySort stays with kube-scheduler: muster goes by the same order",
				"profiles[1].plugins.multiPoint.enabled[0].name: Mine stays with kube-scheduler: muster has no such plugin",
				"profiles[1].plugins.queueSort.enabled[0].name: PrioritySort stays with kube-scheduler: muster goes by the same order",
				"profiles[1].pluginConfig[1].name: DefaultPreemption stays with kube-scheduler: muster has no such plugin",
			},
		},
		{
			name: "what is said of one point comes first",
			document: header + `
profiles:
- plugins:
    multiPoint: {enabled: [{name: NodeAffinity, weight: 3}, {name: InterPodAffinity, weight: 7}], disabled: [{name: '*'}]}
    score: {enabled: [{name: NodeAffinity, weight: 9}], disabled: [{name: InterPodAffinity}]}
`,
			want: `apiVersion: config.muster.dev/v1alpha2
kind: MusterConfiguration
profiles:
- plugins:
    filter:
      disabled:
      - name: '*'
      enabled:
      - name: NodeAffinity
      - name: InterPodAffinity
    score:
      disabled:
      - name: InterPodAffinity
      - name: '*'
      enabled:
      - name: NodeAffinity
        weight: 9
`,
		},
		{
			name: "Koordinator's scheduler",
			document: header + `
profiles:
- schedulerName: koord-scheduler
  plugins:
    multiPoint: {enabled: [{name: Reservation}]}
    filter: {enabled: [{name: LoadAwareScheduling}]}
    score: {enabled: [{name: LoadAwareScheduling, weight: 5}]}
  pluginConfig:
  - name: Reservation
    args: {}
  - name: LoadAwareScheduling
    args:
      apiVersion: kubescheduler.config.k8s.io/v1
      kind: LoadAwareSchedulingArgs
      filterExpiredNodeMetrics: false
      estimator: mine
`,
			want: `apiVersion: config.muster.dev/v1alpha2
kind: MusterConfiguration
profiles:
- pluginConfig:
  - args:
      estimator: mine
      filterExpiredNodeMetrics: false
    name: LoadAwareScheduling
  plugins:
    filter:
      enabled:
      - name: LoadAwareScheduling
    score:
      enabled:
      - name: LoadAwareScheduling
        weight: 5
  schedulerName: koord-scheduler
`,
			warnings: []string{
				"profiles[0].plugins.multiPoint.enabled[0].name: Reservation stays with kube-scheduler: muster has no such plugin",
				"profiles[0].pluginConfig[0].name: Reservation stays with kube-scheduler: muster has no such plugin",
				"profiles[0].pluginConfig[1].args.estimator: ignored: muster estimates as Koordinator's defaultEstimator does",
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			document, warnings, err := Convert([]byte(test.document))
			if err != nil {
				t.Fatal(err)
			}
			got, err := yaml.JSONToYAML(document)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(got)); diff != "" {
				t.Errorf("converted (-want +got):\n%s", diff)
			}
			if test.warnings != nil && !cmp.Equal(test.warnings, warnings) {
				t.Errorf("warnings (-want +got):\n%s", cmp.Diff(test.warnings, warnings))
			}
		})
	}
}

func TestWhatCannotBeConvertedIsNamed(t *testing.T) {
	for name, test := range map[string]struct{ document, want string }{
		"a field that is not known": {header + "profile: []\n", `profile: Invalid value: []: unknown field`},
		"two ways to sort one queue": {
			header + "profiles: [{schedulerName: a}, {schedulerName: b, plugins: {queueSort: {enabled: [{name: Coscheduling}]}}}]\n",
			`profiles[1].plugins.queueSort: Invalid value: "Coscheduling": must be the same in all profiles, as there is one queue: ` +
				"the first has PrioritySort",
		},
		"arguments that are none": {
			header + "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: Most}}}]}]\n",
			`profiles[0].pluginConfig[0].args.scoringStrategy.type: Unsupported value: "Most"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := Convert([]byte(test.document)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %s", err, test.want)
			}
		})
	}
}
