package conformance

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// followedGates are the feature gates of kube-scheduler that docs/compatibility.md does not have to name, and why.
func followedGates() map[string]string {
	const (
		judged = "muster decides as with it on"
		queue  = "it is about the queue, about writes or about metrics, and about no filter and no score"
		groups = "it is about native groups, which are left to kube-scheduler"
		same   = "verdicts are the same, and come sooner"
		stays  = "it is VolumeBinding's, which stays on in kube-scheduler"
	)
	return map[string]string{
		"ContainerRestartRules":                        judged,
		"DRAAdminAccess":                               judged,
		"DRAConsumableCapacity":                        judged,
		"DRADeviceBindingConditions":                   judged,
		"DRADeviceTaintRules":                          judged,
		"DRADeviceTaints":                              judged,
		"DRAExtendedResource":                          judged,
		"DRAFractionalCapacityRange":                   judged,
		"DRAPartitionableDevices":                      judged,
		"DRAPrioritizedList":                           judged,
		"DRAResourceClaimDeviceStatus":                 judged,
		"DRASchedulerFilterTimeout":                    judged,
		"DynamicResourceAllocation":                    judged,
		"InPlacePodLevelResourcesVerticalScaling":      judged,
		"InPlacePodVerticalScaling":                    judged,
		"InPlacePodVerticalScalingInitContainers":      judged,
		"InPlacePodVerticalScalingMemoryBackedVolumes": judged,
		"MatchLabelKeysInPodTopologySpread":            judged,
		"NodeDeclaredFeatures":                         judged,
		"NodeInclusionPolicyInPodTopologySpread":       judged,
		"PodLevelResources":                            judged,
		"RestartAllContainersOnContainerExits":         judged,
		"SidecarContainers":                            judged,
		"UserNamespacesHostNetworkSupport":             judged,
		"VolumeLimitScaling":                           judged,
		"ExtendWebSocketsToKubelet":                    queue,
		"NominatedNodeNameForExpectation":              queue,
		"OpportunisticBatching":                        queue,
		"SchedulerAsyncAPICalls":                       queue,
		"SchedulerAsyncPreemption":                     queue,
		"SchedulerPopFromBackoffQ":                     queue,
		"SchedulerPreQueueingHints":                    queue,
		"SchedulerQueueingHints":                       queue,
		"CompositePodGroup":                            groups,
		"DRAWorkloadResourceClaims":                    groups,
		"GangScheduling":                               groups,
		"PodGroupPreemptionPolicy":                     groups,
		"TopologyAwareWorkloadScheduling":              groups,
		"WorkloadAwarePreemption":                      groups,
		"InterPodAffinityHostnameFastPath":             same,
		"StorageCapacityScoring":                       stays,
		"VolumeAttributesClass":                        stays,
	}
}

var (
	gateDefinition = regexp.MustCompile(`(?m)^\t(\w+) +featuregate\.Feature = "`)
	gateUse        = regexp.MustCompile(`\bfeatures\.([A-Z]\w*)`)
	gateName       = regexp.MustCompile(`= "([A-Z]\w*)"`)
	gateDefault    = regexp.MustCompile(`, Default: (true|false),`)
	gateOnPage     = regexp.MustCompile("(?m)^\\| `(\\w+)`")
)

// TestEveryGateOfKubeSchedulerIsFollowedOrListed reads the source of both releases of kube-scheduler. A gate that it
// names changes what it decides: muster has to decide the same, or to say on its page that it does not. What it does not
// follow must be off by default.
func TestEveryGateOfKubeSchedulerIsFollowedOrListed(t *testing.T) {
	listed, followed, met := listedGates(t), followedGates(), map[string]bool{}
	for _, modfile := range []string{"go.mod", "go.1.36.mod"} {
		kubernetes := moduleSource(t, modfile, "k8s.io/kubernetes")
		definitions := readText(t, filepath.Join(kubernetes, "pkg/features/kube_features.go"))
		known := map[string]bool{}
		for _, definition := range gateDefinition.FindAllStringSubmatch(definitions, -1) {
			known[definition[1]] = true
		}
		named := map[string]bool{}
		collectGates(t, named, filepath.Join(kubernetes, "pkg/scheduler"), gateUse)
		helpers := moduleSource(t, modfile, "k8s.io/component-helpers")
		collectGates(t, named, filepath.Join(helpers, "nodedeclaredfeatures/features"), gateName)
		maps.DeleteFunc(named, func(gate string, _ bool) bool { return !known[gate] })
		if len(named) < 30 {
			t.Errorf("%s: kube-scheduler names only the gates %v", modfile, slices.Sorted(maps.Keys(named)))
		}
		for _, gate := range slices.Sorted(maps.Keys(named)) {
			met[gate] = true
			switch why, follows := followed[gate]; {
			case follows && listed[gate]:
				t.Errorf("%s: %s is on the page, and yet %q", modfile, gate, why)
			case follows:
			case !listed[gate]:
				t.Errorf("%s: %s is neither followed nor named in docs/compatibility.md", modfile, gate)
			case isOnByDefault(t, definitions, gate):
				t.Errorf("%s: %s is on by default, and muster does not follow it", modfile, gate)
			}
		}
	}
	for gate := range followed {
		if !met[gate] {
			t.Errorf("%s is followed, and no kube-scheduler names it", gate)
		}
	}
	for gate := range listed {
		if !met[gate] {
			t.Errorf("%s is on the page, and no kube-scheduler names it", gate)
		}
	}
}

// listedGates are in the table of docs/compatibility.md.
func listedGates(t *testing.T) map[string]bool {
	t.Helper()
	_, table, found := strings.Cut(readText(t, "../../docs/compatibility.md"), "## Feature gates\n")
	listed := map[string]bool{}
	for _, row := range gateOnPage.FindAllStringSubmatch(table, -1) {
		listed[row[1]] = true
	}
	if !found || len(listed) == 0 {
		t.Fatal("docs/compatibility.md has no table of feature gates")
	}
	return listed
}

// moduleSource is the directory with the source of a module, in the version that a module file of e2e pins.
func moduleSource(t *testing.T, modfile, module string) string {
	t.Helper()
	version := output(t, "go", "list", "-m", "-modfile="+modfile, "-f", "{{.Path}}@{{.Version}}", module)
	var downloaded struct{ Dir string }
	if err := json.Unmarshal([]byte(output(t, "go", "mod", "download", "-json", strings.TrimSpace(version))), &downloaded); err != nil {
		t.Fatal(err)
	}
	return downloaded.Dir
}

func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Stderr = "..", os.Stderr
	cmd.Env = append(os.Environ(), "GOFLAGS=")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v", name, strings.Join(args, " "), err)
	}
	return string(out)
}

// collectGates adds what a pattern finds in the Go files below a directory, except in tests.
func collectGates(t *testing.T, named map[string]bool, directory string, pattern *regexp.Regexp) {
	t.Helper()
	err := filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		for _, found := range pattern.FindAllStringSubmatch(readText(t, path), -1) {
			named[found[1]] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// isOnByDefault looks a gate up in the definitions of a release. The last line of a definition is for that release.
func isOnByDefault(t *testing.T, definitions, gate string) bool {
	t.Helper()
	_, after, found := strings.Cut(definitions, "\n\t"+gate+": {\n")
	block, _, closed := strings.Cut(after, "\n\t},")
	defaults := gateDefault.FindAllStringSubmatch(block, -1)
	if !found || !closed || len(defaults) == 0 {
		t.Fatalf("the definitions of feature gates have no default of %s", gate)
	}
	return defaults[len(defaults)-1][1] == "true"
}

func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
