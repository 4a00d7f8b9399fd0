package loadaware

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/cluster"
)

const (
	factorsAnnotation     = AnnotationScalingFactors
	scheduledAnnotation   = AnnotationSecondsAfterPodScheduled
	initializedAnnotation = AnnotationSecondsAfterInitialized

	customized = "allowCustomizeEstimation: true"
)

func TestEstimateOfAPod(t *testing.T) {
	cpuAndMemory := func(cpu, memory int64) Amounts { return Amounts{"cpu": cpu, "memory": memory} }
	own := func(json string) func(*corev1.Pod) { return annotated(factorsAnnotation, json) }
	second := func(c corev1.Container) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Spec.Containers = append(p.Spec.Containers, c) }
	}
	tests := []struct {
		name string
		args string
		pod  *corev1.Pod
		want Amounts
	}{
		{"85 % of its CPU and 70 % of its memory", "", podObject("p"), cpuAndMemory(850, 700)},
		{"of its limit, where that is more", "", podObject("p", limitedTo("cpu", "4")), cpuAndMemory(3400, 700)},
		// 85 % of 1m are 0.85m, 70 % of 1 byte 0.7 bytes; 85 % of 10m are 8.5m, 70 % of 2 bytes are 1.4.
		{"rounded to the nearest", "", podObject("p", asking("cpu", "1m", "memory", "1")), cpuAndMemory(1, 1)},
		{"halves upwards, and down below", "", podObject("p", asking("cpu", "10m", "memory", "2")), cpuAndMemory(9, 1)},
		{"one that asks for nothing uses 250m and 200 MiB", "", podObject("p", asking(), ofClass("koord-prod")), cpuAndMemory(250, 200<<20)},
		{"one that asks for one of them, that of the other", "", podObject("p", asking("cpu", "1")), cpuAndMemory(850, 200<<20)},
		{"the arguments have the factors", "estimatedScalingFactors: {cpu: 50, memory: 100}", podObject("p"), cpuAndMemory(500, 1000)},
		{
			"of any resource", "estimatedScalingFactors: {ephemeral-storage: 40}",
			podObject("p", asking("cpu", "1", "memory", "1000", "ephemeral-storage", "10")),
			Amounts{"cpu": 850, "memory": 700, "ephemeral-storage": 4},
		},
		{
			"which by default is none of the others", "supportedResources: [example.com/gpu]",
			podObject("p", asking("cpu", "1", "memory", "1000", "example.com/gpu", "2")),
			Amounts{"cpu": 850, "memory": 700, "example.com/gpu": 0},
		},
		{
			"one that asks for nothing of another resource uses nothing of it", "estimatedScalingFactors: {example.com/gpu: 40}", podObject("p"),
			Amounts{"cpu": 850, "memory": 700, "example.com/gpu": 0},
		},

		{"a pod may have factors of its own", customized, podObject("p", own(`{"cpu":10}`)), cpuAndMemory(100, 700)},
		{
			"of a resource without one",
			customized + "\nsupportedResources: [example.com/gpu]",
			podObject("p", own(`{"example.com/gpu":50}`), asking("cpu", "1", "memory", "1000", "example.com/gpu", "2")),
			Amounts{"cpu": 850, "memory": 700, "example.com/gpu": 1},
		},
		{"and not where the arguments do not allow it", "", podObject("p", own(`{"cpu":10}`)), cpuAndMemory(850, 700)},
		{"they may be 0", customized, podObject("p", own(`{"cpu":0}`)), cpuAndMemory(0, 700)},
		{"they may be above 100", customized, podObject("p", own(`{"cpu":200}`)), cpuAndMemory(2000, 700)},
		{"up to the limit", customized, podObject("p", own(`{"cpu":200}`), limitedTo("cpu", "1500m")), cpuAndMemory(1500, 700)},
		{"they are not negative, and the others count", customized, podObject("p", own(`{"cpu":-1,"memory":1}`)), cpuAndMemory(850, 10)},
		{"each is a number", customized, podObject("p", own(`{"cpu":"10","memory":1}`)), cpuAndMemory(850, 10)},
		{"they are JSON", customized, podObject("p", own(`cpu=10`)), cpuAndMemory(850, 700)},
		// The containers ask for 5 CPUs together; the limit of one of them, 2 CPUs, is none of the pod.
		{
			"a limit of some containers bounds nothing", "",
			podObject("p", limitedTo("cpu", "2"), second(corev1.Container{Resources: corev1.ResourceRequirements{Requests: amounts("cpu", "4")}})),
			cpuAndMemory(4250, 700),
		},

		{
			"a pod of class batch asks for batch resources",
			"",
			podObject(
				"p", ofClass("koord-batch"), asking("cpu", "9", "memory", "9", "kubernetes.io/batch-cpu", "2000", "kubernetes.io/batch-memory", "100"),
			),
			cpuAndMemory(1700, 70),
		},
		{
			"one of class mid for mid resources",
			"",
			podObject(
				"p", ofClass("koord-mid"), asking("kubernetes.io/mid-cpu", "2000", "kubernetes.io/mid-memory", "100"),
				limitedTo("kubernetes.io/mid-cpu", "4000"),
			),
			cpuAndMemory(3400, 70),
		},
		{"one of class free for plain resources", "", podObject("p", ofClass("koord-free")), cpuAndMemory(850, 700)},
		{
			"what batch asks for of other resources has no other name", "estimatedScalingFactors: {ephemeral-storage: 40}",
			podObject("p", ofClass("koord-batch"), asking("ephemeral-storage", "10")),
			Amounts{"cpu": 250, "memory": 200 << 20, "ephemeral-storage": 4},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := scene{args: test.args, pod: test.pod}.raise(t)
			if diff := cmp.Diff(test.want, r.load.Explain(r.node, r.pod).Adds); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestPriorityClassOfAPod(t *testing.T) {
	besteffort := func(p *corev1.Pod) { p.Status.QOSClass = corev1.PodQOSBestEffort }
	tests := []struct {
		name string
		pod  *corev1.Pod
		want string
	}{
		{"the label says it", podObject("p", ofClass("koord-mid"), ofPriority(9500)), "koord-mid"},
		{"unless it says nothing that is known", podObject("p", ofClass("gold"), ofPriority(9500)), "koord-prod"},
		{"9000 is prod", podObject("p", ofPriority(9000)), "koord-prod"},
		{"9999 is prod", podObject("p", ofPriority(9999)), "koord-prod"},
		{"7000 is mid", podObject("p", ofPriority(7000)), "koord-mid"},
		{"5999 is batch", podObject("p", ofPriority(5999)), "koord-batch"},
		{"3000 is free", podObject("p", ofPriority(3000)), "koord-free"},
		{"10000 is none of them, and a pod that asks for something is prod", podObject("p", ofPriority(10000)), "koord-prod"},
		{
			"8000 is none of them, and a pod of the lowest quality of service is batch", podObject("p", ofPriority(8000), besteffort), "koord-batch",
		},
		{"a negative one is none of them", podObject("p", ofPriority(-9000), besteffort), "koord-batch"},
		{"without any, the quality of service says it", podObject("p", besteffort), "koord-batch"},
		{"a pod without a quality of service that asks for nothing is batch", podObject("p", asking()), "koord-batch"},
		{"one that has a limit is prod", podObject("p", asking(), limitedTo("memory", "1")), "koord-prod"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := classOf(cluster.NewPod(test.pod)).String(); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

// TestWhenTheEstimateOfAPodCounts has a pod that is estimated to use 850m and uses 100m, on a node
// that was measured at 0 s and is so every minute.
func TestWhenTheEstimateOfAPodCounts(t *testing.T) {
	const (
		second         = time.Second
		afterScheduled = "estimatedSecondsAfterPodScheduled: 300"
		both           = afterScheduled + "\nestimatedSecondsAfterInitialized: 100"
	)
	old := func(change ...func(*corev1.Pod)) *corev1.Pod { return podObject("old", change...) }
	since := func(after time.Duration) func(*corev1.Pod) { return became(corev1.PodScheduled, after) }
	initialized := func(after time.Duration) func(*corev1.Pod) { return became(corev1.PodInitialized, after) }
	says := annotated
	unscheduled := func(p *corev1.Pod) { p.Status.Conditions = nil }
	report := []figure{byPod("old", "100m", "0")}
	tests := []struct {
		name string
		args string
		pod  *corev1.Pod
		by   []figure
		want string
	}{
		{"it does not for one that is measured in full", "", old(), report, ""},
		{"it does for one that is not reported", "", old(), nil, "unreported"},
		{"another one of its name is not it", "", old(func(p *corev1.Pod) { p.Namespace = "other" }), report, "unreported"},
		{"it does for one that was scheduled within the last interval", "", old(since(-59 * second)), report, "just scheduled"},
		{"not for one that was scheduled when it began", "", old(since(-60 * second)), report, ""},
		{"the interval is the source's", "", old(since(-60 * second)), append(report, everySoOften(2*time.Minute)), "just scheduled"},
		{"and a minute when that does not say: just within", "", old(since(-59 * second)), append(report, everySoOften(0)), "just scheduled"},
		{"and a minute when that does not say: at its begin", "", old(since(-60 * second)), append(report, everySoOften(0)), ""},
		{"one whose conditions do not say so was scheduled when it came, which is now", "", old(unscheduled), report, "just scheduled"},

		{"it does for some time after it was scheduled", afterScheduled, old(since(-299 * second)), report, "bootstrapping"},
		{"which ends", afterScheduled, old(since(-300 * second)), report, ""},
		{"it does for some time after its init containers ended", both, old(since(-time.Hour), initialized(-99*second)), report, "bootstrapping"},
		{"which ends", both, old(since(-time.Hour), initialized(-100*second)), report, ""},
		{"and goes before the other one, as soon as they have ended", both, old(since(-200*second), initialized(-150*second)), report, ""},
		{"and not earlier", both, old(since(-200 * second)), report, "bootstrapping"},
		{"without the other one there is no end to wait for", "estimatedSecondsAfterInitialized: 100", old(since(-200 * second)), report, ""},

		{"a pod may say for how long", customized, old(since(-299*second), says(scheduledAnnotation, "300")), report, "bootstrapping"},
		{
			"for a day at most: just within", customized, old(since(-24*time.Hour+second), says(scheduledAnnotation, "9000000000")), report,
			"bootstrapping",
		},
		{"for a day at most: after it", customized, old(since(-24*time.Hour), says(scheduledAnnotation, "9000000000")), report, ""},
		{"of both", customized, old(initialized(-99*second), says(initializedAnnotation, "100")), report, "bootstrapping"},
		{"and not where the arguments do not allow it", "", old(since(-299*second), says(scheduledAnnotation, "300")), report, ""},
		{"0 turns it off", customized + "\n" + afterScheduled, old(since(-299*second), says(scheduledAnnotation, "0")), report, ""},
		{
			"what is negative is ignored", customized + "\n" + afterScheduled, old(since(-299*second), says(scheduledAnnotation, "-1")), report,
			"bootstrapping",
		},
		{
			"what is no number is ignored", customized + "\n" + afterScheduled, old(since(-299*second), says(scheduledAnnotation, "5m")), report,
			"bootstrapping",
		},
		{
			"more seconds than there are nanoseconds are very many", customized, old(says(scheduledAnnotation, "9223372036854775807")), report,
			"bootstrapping",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := scene{args: test.args, usage: using("1", "0", test.by...), pods: []*corev1.Pod{test.pod}}.raise(t)
			e := r.load.Explain(r.node, r.pod)
			if got := e.Pods[0].Counts; got != test.want {
				t.Fatalf("%q, want %q", got, test.want)
			}
			// Reported 100m of 850m; not reported, none of them.
			want := map[string]int64{"": 0, "unreported": 850, "just scheduled": 750, "bootstrapping": 750}[test.want]
			if got := e.Filter.Delta["cpu"]; got != want {
				t.Errorf("it adds %dm, want %dm", got, want)
			}
		})
	}
}

func TestAPodThatIsOnlySupposedToBeThereIsNotScheduledYet(t *testing.T) {
	r := scene{
		usage: using("0", "0", byPod("old", "100m", "0")),
		pod:   podObject("old", func(p *corev1.Pod) { p.Status.Conditions = nil }),
	}.raise(t)
	if got := r.load.Explain(r.node.WithPod(r.pod), nil).Filter.Delta["cpu"]; got != 750 {
		t.Errorf("it adds %dm, want 750m", got)
	}
}
