package console

import (
	"io"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/server/servertest"
)

// get asks for a page with headers, and returns status and text.
func TestExplainSaysOfEveryNodeWhatSpeaksForAndAgainstIt(t *testing.T) {
	b := newBench(t, benchOptions{})
	b.Node("small", "1", servertest.Cordoned)
	b.Node("big", "10")
	if err := b.Cluster.Set(servertest.Pod("p", "5")); err != nil {
		t.Fatal(err)
	}
	// big: CPU 5 of 10 and memory 200 MiB of 64 GiB are 50 and 99, 74 on the mean; balance falls from 100 to 75: 62.
	want := "pod default/p, profile default-scheduler, no class, generation 2: 1 of 2 nodes fit"
	status, page := b.Get("/debug/explain?pod=default/p")
	lines := strings.Split(page, "\n")
	if status != http.StatusOK || lines[0] != want {
		t.Fatalf("answered %d, %q", status, lines[0])
	}
	if got := strings.Fields(lines[3]); strings.Join(got, " ") != "big true 136 74 62" {
		t.Errorf("first row %q", got)
	}
	if against := "NodeUnschedulable: node(s) were unschedulable; NodeResourcesFit: Insufficient cpu"; !strings.HasSuffix(lines[4], against) ||
		!strings.HasPrefix(lines[4], "small") {
		t.Errorf("second row %q", lines[4])
	}

	response, err := http.Post(
		b.URL+"/debug/explain", "application/yaml",
		strings.NewReader("spec: {containers: [{name: c, resources: {requests: {cpu: 20, memory: 1Ti}}}]}"),
	)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	const short = "NodeResourcesFit: Insufficient cpu; NodeResourcesFit: Insufficient memory"
	if page, _ := io.ReadAll(response.Body); !strings.Contains(string(page), "0 of 2 nodes fit") || !strings.Contains(string(page), short) {
		t.Errorf("for a posted pod of 20 CPUs and a terabyte answered %s", page)
	}
}

func TestExplainSaysHowAPodComesToAnotherSchedulerThanTheDefaultOne(t *testing.T) {
	for scheduler, want := range map[string]bool{"default-scheduler": true, "theirs": false} {
		b := newBench(t, benchOptions{profiles: "profiles: [{schedulerName: batch}]"})
		pod := servertest.Pod("p", "1")
		pod.Spec.SchedulerName = scheduler
		if err := b.Cluster.Set(pod); err != nil {
			t.Fatal(err)
		}
		_, page := b.Get("/debug/explain?pod=default/p")
		if says := strings.Contains(page, "by the label muster.dev/scheduler of its namespace"); says != want ||
			!strings.Contains(page, `no profile for spec.schedulerName "`+scheduler+`"`) {
			t.Errorf("of a pod of %s it says %s", scheduler, page)
		}
	}
}

func TestExplainSaysWhatAGatedPodWaitsFor(t *testing.T) {
	b := newBench(t, benchOptions{gangs: true})
	b.Node("a", "4")
	pod := servertest.Pod("p", "1")
	pod.Labels = map[string]string{v1alpha1.LabelMuster: "g"}
	pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: v1alpha1.SchedulingGate}}
	if err := b.Cluster.Set(pod); err != nil {
		t.Fatal(err)
	}
	b.Filter(pod, "a") // the gang is followed
	const want = "it is held back by scheduling gates: muster.dev/gang; it waits as a member of gang default/g, gated: there is no PodGroup g"
	if _, page := b.Get("/debug/explain?pod=default/p"); !strings.Contains(page, want) {
		t.Errorf("want %q in:\n%s", want, page)
	}
}

func TestExplainDoesNotHoldAPodAgainstItself(t *testing.T) {
	b := newBench(t, benchOptions{})
	b.Node("a", "4")
	b.Node("b", "4")
	placed := servertest.Pod("p", "3")
	placed.Spec.NodeName = "a"
	placed.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80}}
	if err := b.Cluster.Set(placed); err != nil {
		t.Fatal(err)
	}
	if _, page := b.Get("/debug/explain?pod=default/p"); !strings.Contains(page, "2 of 2 nodes fit") {
		t.Errorf("of a pod on its node it says:\n%s", page)
	}
}

func TestExplainRefusesWhatItCannotExplain(t *testing.T) {
	b := newBench(t, benchOptions{})
	for path, want := range map[string]int{
		"/debug/explain":               http.StatusBadRequest,
		"/debug/explain?pod=p":         http.StatusBadRequest,
		"/debug/explain?pod=default/p": http.StatusNotFound,
	} {
		if status, page := b.Get(path); status != want || !strings.HasPrefix(page, "pod: ") {
			t.Errorf("%s answered %d %q", path, status, page)
		}
	}
	response, err := http.Post(b.URL+"/debug/explain", "application/yaml", strings.NewReader("spec: {kontainers: []}"))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if page, _ := io.ReadAll(response.Body); response.StatusCode != http.StatusBadRequest || !strings.Contains(string(page), "kontainers") {
		t.Errorf("a misspelt pod was answered %d %s", response.StatusCode, page)
	}
}

func TestAPostedPodIsReadAsItWouldBeApplied(t *testing.T) {
	b := newBench(t, benchOptions{})
	b.Node("a", "4")
	for name, test := range map[string]struct {
		manifest string
		status   int
		contains string
	}{
		"without a namespace it is in the default one": {"metadata: {name: p}", http.StatusOK, "pod default/p"},
		"limits are requests where there are none": {
			"spec: {containers: [{name: c, resources: {limits: {cpu: 100}}}]}", http.StatusOK, "0 of 1 nodes fit",
		},
		"requests of its own count": {
			"spec: {containers: [{name: c, resources: {limits: {cpu: 100}, requests: {cpu: 1}}}]}", http.StatusOK, "1 of 1 nodes fit",
		},
		"another kind is refused": {"kind: Deployment", http.StatusBadRequest, `kind: "Deployment" is not Pod`},
		"one that is too large is refused as such": {
			"#" + strings.Repeat("x", 1<<20), http.StatusRequestEntityTooLarge, "the body is larger than 1048576 bytes",
		},
	} {
		response, err := http.Post(b.URL+"/debug/explain", "application/yaml", strings.NewReader(test.manifest))
		if err != nil {
			t.Fatal(err)
		}
		page, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != test.status || !strings.Contains(string(page), test.contains) {
			t.Errorf("%s: answered %d %s", name, response.StatusCode, page)
		}
	}
}
