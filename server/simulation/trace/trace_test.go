package trace

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// said is a job in one line, with its true runtime.
func said(j *Job) string {
	text := fmt.Sprintf("%s/%s at %s runs %s", j.Namespace, j.Name, j.At, j.runs)
	if j.Says > 0 {
		text += fmt.Sprintf(" says %s", j.Says)
	}
	if j.Gang {
		text += " gang"
	}
	text += fmt.Sprintf(" of %d", j.Pods)
	for _, name := range []corev1.ResourceName{"cpu", "memory", "nvidia.com/gpu", "example.com/fpga"} {
		if q, asks := j.Asks[name]; asks {
			text += fmt.Sprintf(" %s=%s", name, q.String())
		}
	}
	if j.App != j.Name {
		text += " app " + j.App
	}
	if j.Priority != 0 {
		text += fmt.Sprintf(" priority %d", j.Priority)
	}
	if j.Scheduler != "" {
		text += " by " + j.Scheduler
	}
	return text
}

func checkRead(t *testing.T, format Format, text string, want ...string) *Trace {
	t.Helper()
	read, err := Read("jobs", []byte(text), format)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, j := range read.Jobs {
		got = append(got, said(j))
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("read:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	return read
}

func checkRefused(t *testing.T, format Format, text, want string) {
	t.Helper()
	if _, err := Read("jobs", []byte(text), format); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("of %q it is said %v, want %q", text, err, want)
	}
}

func TestATableOfOursIsReadByTheNamesOfItsColumns(t *testing.T) {
	checkRead(t, CSV, "submit,runtime\n0,60\n", "default/job 1 at 0s runs 1m0s of 1 app ")
	checkRead(
		t, CSV,
		"# made by hand\nruntime, submit,pods,cpu,memory,gpu,resource:example.com/fpga,name,namespace,priority,estimate,app,gang,scheduler\n"+
			"2h30m,1m30s,4,500m,16Gi,2,1,train,lab,10,3h,resnet,,\n"+
			"0.5,30,2,,,,,web,,-5,,,no,batch\n",
		"default/web at 30s runs 500ms of 2 priority -5 by batch",
		"lab/train at 1m30s runs 2h30m0s says 3h0m0s gang of 4 cpu=500m memory=16Gi nvidia.com/gpu=2 example.com/fpga=1 app resnet priority 10",
	)
	checkRead(
		t, CSV, "submit,runtime,name\n2026-05-01T12:00:00+02:00,1,b\n2026-05-01T09:59:00Z,1,a\n",
		"default/a at 0s runs 1s of 1", "default/b at 1m0s runs 1s of 1",
	)
}

func TestABadTableIsRefusedWithThePlaceAndTheValue(t *testing.T) {
	const head = "submit,runtime,pods,cpu,gang,namespace,estimate,priority\n"
	for text, want := range map[string]string{
		"":                                              "jobs: it is empty",
		"submit,runtime\n":                              "jobs: there are no jobs",
		"submit,runtme\n0,1\n":                          `jobs:1: column "runtme" is unknown; known are submit, runtime, pods`,
		"submit,submit\n":                               `jobs:1: column "submit" is there twice`,
		"submit,resource:a b\n":                         `jobs:1: column "resource:a b" is unknown`,
		"submit,pods\n0,1\n":                            "jobs:1: there is no column runtime",
		"submit,runtime\n0\n":                           "jobs:2: there are 1 fields, and 2 columns",
		"submit,runtime\n0,\n":                          "jobs:2: column runtime: it is empty",
		"submit,runtime\n0,1\n\n1,soon\n":               `jobs:4: column runtime: "soon" is neither seconds nor a duration`,
		"submit,runtime\n0,0\n":                         `jobs:2: column runtime: "0" is no time`,
		"submit,runtime\n0,-1\n":                        `jobs:2: column runtime: "-1" is less than 0`,
		"submit,runtime\n0,1e99\n":                      `jobs:2: column runtime: "1e99" is more than`,
		"submit,runtime\n0,NaN\n":                       `jobs:2: column runtime: "NaN" is more than`,
		"submit,runtime\nnoon,1\n":                      `"noon" is neither seconds nor a duration, such as 90 or 2h30m; nor a time`,
		"submit,runtime\n0,1\n2026-05-01T10:00:00Z,1\n": "jobs:3: column submit: \"2026-05-01T10:00:00Z\": jobs come either",
		"submit,runtime\n1926-05-01T10:00:00Z,1\n2026-05-01T10:00:00Z,1\n": "jobs: jobs come from 1926",
		head + "0,1,0,,,,,\n":                                   `jobs:2: column pods: "0" is no whole number from 1 to 10000`,
		head + "0,1,1,lots,,,,\n":                               `jobs:2: column cpu: "lots" is no quantity`,
		head + "0,1,1,-1,,,,\n":                                 `jobs:2: column cpu: "-1" is not from 0 to 1e+15`,
		head + "0,1,1,1e30,,,,\n":                               `jobs:2: column cpu: "1e30" is not from 0 to 1e+15`,
		head + "0,1,1,1,perhaps,,,\n":                           `jobs:2: column gang: "perhaps" is neither true nor false`,
		head + "0,1,1,1,,A_B,,\n":                               `jobs:2: column namespace: "A_B" is no name of a namespace`,
		head + "0,1,1,1,,,long,\n":                              `jobs:2: column estimate: "long" is neither`,
		head + "0,1,1,1,,,,1e9\n":                               `jobs:2: column priority: "1e9" is no whole number`,
		"submit,runtime,gpu,resource:nvidia.com/gpu\n0,1,1,1\n": "jobs:2: column resource:nvidia.com/gpu: another column says",
		"submit,runtime\n0,\"1\n":                               "jobs:",
		"submit,runtime\n0," + strings.Repeat("1", 5000) + "\n": "jobs:2: field 2 has 5000 bytes; one has 4096 at most",
	} {
		checkRefused(t, CSV, text, want)
	}
	many := "submit,runtime,pods\n" + strings.Repeat("0,1,10000\n", MostPods/MostPodsOfJob+1)
	checkRefused(t, CSV, many, fmt.Sprintf("jobs:%d: all jobs together have more than %d pods", MostPods/MostPodsOfJob+2, MostPods))
	checkRefused(t, CSV, "submit,runtime\n"+strings.Repeat("0,1\n", MostJobs+1), fmt.Sprintf("there are more than %d jobs", MostJobs))
	checkRefused(t, CSV, strings.Repeat(" ", MostBytes+1), "jobs: it has more than 64 MiB")
}

const sacctHead = "JobID|Submit|Elapsed|Timelimit|NNodes|NCPUS|ReqMem|ReqTRES|State|User|JobName|Priority\n"

func TestJobsOfSlurmBecomeOnePodForEachNode(t *testing.T) {
	read := checkRead(
		t, Sacct, sacctHead+
			"12|2026-05-01T10:00:00|1-02:03:04|2-00:00:00|4|128|4Gn|billing=1,gres/gpu:a100=16|COMPLETED|Ada_L|train|4294967295\n"+
			"12.batch|2026-05-01T10:00:00|1-02:03:04||4|128|||COMPLETED||batch|\n"+
			"13_7|2026-05-01T09:59:00|00:10|UNLIMITED|1|4|2Gc||TIMEOUT|bob|sweep|7\n"+
			"14|2026-05-01T10:01:00|05:00.500|Partition_Limit|2|3|10G|gres/gpu=3|FAILED|bob||0\n"+
			"15|2026-05-01T10:01:00|00:00:00|01:00:00|1|1|||CANCELLED by 7|bob|x|0\n"+
			"16|2026-05-01T10:01:00|00:00:09|01:00:00|1|1|||RUNNING|bob|x|0\n"+
			"17|Unknown|||0|1|||PENDING|bob|x|0\n",
		"bob/13_7 at 0s runs 10s of 1 cpu=4 memory=8Gi app sweep priority 7",
		"ada-l/12 at 1m0s runs 26h3m4s says 48h0m0s gang of 4 cpu=32 memory=4Gi nvidia.com/gpu=4 app train priority 1000000000",
		"bob/14 at 2m0s runs 5m0.5s gang of 2 cpu=1500m memory=5Gi nvidia.com/gpu=2",
	)
	for why, want := range map[string]int{neverRan: 2, runsStill: 1, isStep: 1} {
		if got := read.LeftOut[why]; got != want {
			t.Errorf("%d are left out that %s, want %d", got, why, want)
		}
	}
}

// Users name their jobs: no name takes the lines of others away, nor spoils the table.
func TestNoNameOfAJobOfSlurmHidesOthers(t *testing.T) {
	const head = "JobID|Submit|Elapsed|NNodes|JobName\n"
	checkRead(
		t, Sacct, head+"1|2026-05-01T10:00:00|01:00|1|\"a\n2|2026-05-01T10:00:01|01:00|1|b|c\r\n\n3|2026-05-01T10:00:02|01:00|1|\"d\" e\n",
		`default/1 at 0s runs 1m0s of 1 app "a`, "default/2 at 1s runs 1m0s of 1 app b|c", `default/3 at 2s runs 1m0s of 1 app "d" e`,
	)
	const nameAmidst = "JobID|Submit|Elapsed|JobName|NNodes\n"
	checkRefused(t, Sacct, nameAmidst+"1|2026-05-01T10:00:00|01:00|a|b|1\n", "jobs:2: there are 6 fields, and 5 columns")
}

func TestTheFirstJobComesAtTheStartWhateverTheYear(t *testing.T) {
	const head = "JobID|Submit|Elapsed\n"
	for range 20 { // whatever the order of a map
		checkRefused(t, Sacct, head+"1|0001-01-01T00:00:00|01:00\n2|2026-05-01T10:00:00|01:00\n", "jobs: jobs come from 0001-01-01T00:00:00Z")
	}
}

func TestABadTableOfSlurmIsRefusedWithThePlaceAndTheValue(t *testing.T) {
	const head = "JobID|Submit|Elapsed|Timelimit|NNodes|NCPUS|ReqMem|ReqTRES\n"
	for text, want := range map[string]string{
		"JobID|Submit\n1|2\n":                                    "jobs:1: there is no column elapsed: want sacct --parsable2",
		head + "1|soon|00:01||1|1||\n":                           `jobs:2: column submit: "soon" is no time`,
		head + "1|2026-05-01T10:00:00|1s||1|1||\n":               `jobs:2: column elapsed: "1s" is no duration, such as 1-02:30:00`,
		head + "1|2026-05-01T10:00:00|00:NaN||1|1||\n":           `jobs:2: column elapsed: "00:NaN" is no duration`,
		head + "1|2026-05-01T10:00:00|9999-00:00:00||1|1||\n":    `jobs:2: column elapsed: "9999-00:00:00" is more than`,
		head + "1|2026-05-01T10:00:00|00:01|ever|1|1||\n":        `jobs:2: column timelimit: "ever" is no duration`,
		head + "1|2026-05-01T10:00:00|00:01||1K|1||\n":           `jobs:2: column nnodes: "1K" is no whole number`,
		head + "1|2026-05-01T10:00:00|00:01||1|x||\n":            `jobs:2: column ncpus: "x" is no whole number`,
		head + "1|2026-05-01T10:00:00|00:01||1|1|4X|\n":          `jobs:2: column reqmem: "4X" is no amount of memory`,
		head + "1|2026-05-01T10:00:00|00:01||1|1|9999999999P|\n": `jobs:2: column reqmem: "9999999999P" is more than 1e+15 bytes`,
		head + "1|2026-05-01T10:00:00|00:01||1|1||mem=x\n":       `jobs:2: column reqtres: "mem=x": "x" is no amount of memory`,
		head + "1|2026-05-01T10:00:00|00:00||1|1||\n":            "jobs: there are no jobs; left out: 1 that never ran",
	} {
		checkRefused(t, Sacct, text, want)
	}
}

// dumped is a dump of a node, and of pods in all states.
var dumped = `
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Node
  metadata: {name: a}
  status: {allocatable: {cpu: "8", memory: 32Gi, pods: "110"}}
- {apiVersion: v1, kind: Namespace, metadata: {name: lab}}
` + podOf("train-0", "Job", "train", "10:00:00", "Succeeded", "10:05:00", "11:05:00") +
	podOf("train-1", "Job", "train", "10:00:10", "Succeeded", "10:05:00", "11:00:00") +
	podOf("train-2", "Job", "train", "12:00:10", "Failed", "12:05:00", "12:06:00") +
	podOf("runs", "Job", "other", "12:00:10", "Running", "12:05:00", "") +
	podOf("waits", "Job", "other", "12:00:10", "Pending", "", "") +
	podOf("stays", "DaemonSet", "agent", "12:00:10", "Running", "12:05:00", "") +
	podOf("gone", "Job", "other", "12:00:10", "Succeeded", "12:05:00", "")

func podOf(name, kind, owner, created, phase, started, finished string) string {
	text := fmt.Sprintf(`- apiVersion: v1
  kind: Pod
  metadata:
    name: %s
    namespace: lab
    labels: {muster.dev/pod-group: train}
    annotations: {muster.dev/expected-runtime: 2h}
    creationTimestamp: 2026-05-01T%sZ
    ownerReferences: [{apiVersion: batch/v1, kind: %s, name: %s, uid: u, controller: true}]
  spec:
    nodeName: a
    priority: 3
    schedulerName: batch
    nodeSelector: {disk: ssd}
    containers: [{name: main, resources: {requests: {cpu: "2"}}}]
  status:
    phase: %s
`, name, created, kind, owner, phase)
	if started != "" {
		text += fmt.Sprintf("    startTime: 2026-05-01T%sZ\n", started)
	}
	if finished != "" {
		text += fmt.Sprintf("    containerStatuses: [{name: main, state: {terminated: {finishedAt: 2026-05-01T%sZ}}}]\n", finished)
	}
	return text
}

func TestPodsOfADumpThatHaveEndedAreJobs(t *testing.T) {
	read := checkRead(
		t, Dump, dumped,
		"lab/job/train at 0s runs 1h0m0s says 2h0m0s gang of 2 cpu=2 app train priority 3 by batch",
		"lab/job/train at 2h0m10s runs 1m0s says 2h0m0s of 1 cpu=2 app train priority 3 by batch",
	)
	for why, want := range map[string]int{neverRan: 1, runsStill: 1, unknownEnd: 1, "come with their nodes, and stay there": 1} {
		if got := read.LeftOut[why]; got != want {
			t.Errorf("%d are left out that %s, want %d", got, why, want)
		}
	}
	if n := read.Nodes; len(n.Nodes) != 1 || len(n.Stay) != 1 || n.Total("cpu") != 8 {
		t.Errorf("the nodes are %+v", n)
	}
	if got := read.Jobs[0].Template.NodeSelector["disk"]; got != "ssd" {
		t.Errorf("the node selector is %q", got)
	}
	for text, want := range map[string]string{
		"kind: List\nitems: 3\n":   "jobs: document 1:",
		"a: b\n":                   "jobs: document 1: kind: it is empty",
		"kind: List\nitems: [3]\n": "jobs: document 1: object 1:",
		"kind: Node\nmetadata: {name: a}\n---\nkind: Node\nmetadata: {name: a}\n": "jobs: document 2: object 1: there is a node a already",
		"kind: Node\nmetadata: {name: ''}\n":                                      "jobs: document 1: object 1: metadata.name: it is empty",
		"kind: Node\nmetadata: {name: a}\n":                                       "jobs: there are no jobs",
		"kind: Pod\nspec: {containers: {a: b}}\n":                                 "jobs: document 1: object 1:",
	} {
		checkRefused(t, Dump, text, want)
	}
}

// A launcher among workers parts no gang.
func TestPodsThatAskForTheSameAreOneJobThoughOthersComeBetween(t *testing.T) {
	large := strings.ReplaceAll(podOf("b", "MPIJob", "train", "10:00:01", "Succeeded", "10:05:00", "10:06:00"), `cpu: "2"`, `cpu: "4"`)
	checkRead(
		t, Dump, "kind: List\nitems:\n"+podOf("a", "MPIJob", "train", "10:00:00", "Succeeded", "10:05:00", "10:06:00")+large+
			podOf("c", "MPIJob", "train", "10:00:02", "Succeeded", "10:05:00", "10:07:00"),
		"lab/mpijob/train at 0s runs 2m0s says 2h0m0s gang of 2 cpu=2 app train priority 3 by batch",
		"lab/mpijob/train at 1s runs 1m0s says 2h0m0s of 1 cpu=4 app train priority 3 by batch",
	)
}

func TestAFormatIsKnownByWhatItLooksLike(t *testing.T) {
	for text, want := range map[string]Format{
		"": CSV, "\n# a\nsubmit,runtime\n": CSV, sacctHead: Sacct, dumped: Dump, `{"kind": "List", "a": "b|c"}`: Dump, "---\nkind: Pod\n": Dump,
	} {
		if got, err := ParseFormat("", []byte(text)); got != want || err != nil {
			t.Errorf("%q is taken for %s, want %s", text[:min(len(text), 20)], got, want)
		}
	}
	if got, err := ParseFormat("csv", []byte(dumped)); got != CSV || err != nil {
		t.Errorf("the format is %s, %v, want the one that is named", got, err)
	}
	if _, err := ParseFormat("xml", nil); err == nil || err.Error() != `"xml" is none of csv, sacct and dump` {
		t.Errorf("of another format it is said %v", err)
	}
}

func TestNodesAreOfShapesAndFiles(t *testing.T) {
	n := &Nodes{}
	for _, shape := range []string{"2:cpu=64,memory=256Gi,nvidia.com/gpu=8", "1:cpu=500m,pods=3"} {
		if err := n.AddShape(shape); err != nil || !IsShape(shape) {
			t.Fatal(err)
		}
	}
	if err := n.AddFile("nodes.yaml", []byte(dumped)); err != nil {
		t.Fatal(err)
	}
	if cpu, gpus, pods := n.Total("cpu"), n.Total(gpu), n.Total("pods"); len(n.Nodes) != 4 || cpu != 136.5 || gpus != 16 || pods != 333 {
		t.Errorf("%d nodes have %g CPUs, %g GPUs and room for %g pods", len(n.Nodes), cpu, gpus, pods)
	}
	for _, file := range []string{"nodes.yaml", "a:cpu=1", "1:", "c:/nodes"} {
		if IsShape(file) {
			t.Errorf("%q is taken for a shape", file)
		}
	}
	for shape, want := range map[string]string{
		"0:cpu=1":       `"0:cpu=1": how many: "0" is no whole number from 1 to 20000`,
		"1:cpu=lots":    `cpu: "lots" is no quantity`,
		"1:a b=1":       `"a b" is no name of a resource`,
		"20000:cpu=64":  "there are more than 20000 nodes",
		"1:cpu=1,cpu=2": `cpu: it is there twice`,
	} {
		if err := n.AddShape(shape); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("of %q it is said %v, want %q", shape, err, want)
		}
	}
	err := (&Nodes{}).AddFile("none.yaml", []byte("kind: Pod\n"))
	if err == nil || !strings.HasPrefix(err.Error(), "none.yaml: there are no nodes") {
		t.Errorf("of a file without nodes it is said %v", err)
	}
}

func TestPodsOfOneAppAreOneWorkload(t *testing.T) {
	read := checkRead(
		t, CSV, "submit,runtime,app\n0,1,Train_5\n0,1,\n",
		"default/job 1 at 0s runs 1s of 1 app Train_5", "default/job 2 at 0s runs 1s of 1 app ",
	)
	if got := read.Jobs[0].PodName(3); got != "train-5-0-3" {
		t.Errorf("a pod is named %s", got)
	}
	if got := read.Jobs[1].PodName(3); got != "job1x-1-3" {
		t.Errorf("a pod of no app is named %s", got)
	}
}

func FuzzTrace(f *testing.F) {
	f.Add("csv", "submit,runtime,pods,cpu\n0,60,2,500m\n")
	f.Add("csv", "submit,runtime\n2026-05-01T10:00:00Z,1h\n")
	f.Add("sacct", sacctHead+"12|2026-05-01T10:00:00|1-02:03:04|2-00:00:00|4|128|4Gn|gres/gpu=16|COMPLETED|ada|train|5\n")
	f.Add("dump", dumped)
	f.Fuzz(func(t *testing.T, format, text string) {
		read, err := Read("jobs", []byte(text), Format(format))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "jobs:") {
				t.Errorf("an error does not name the file: %v", err)
			}
			return
		}
		last := time.Duration(0)
		for i, j := range read.Jobs {
			if j.Number != i || j.At < last || j.At > LongestSpan || j.runs <= 0 || j.runs > LongestRun || j.Says < 0 || j.Pods < 1 {
				t.Errorf("job %d is %s", i, said(j))
			}
			for name, q := range j.Asks {
				if q.Sign() < 0 {
					t.Errorf("job %d asks for %s of %s", i, q.String(), name)
				}
			}
			last = j.At
		}
	})
}

func FuzzNodes(f *testing.F) {
	f.Add("2:cpu=64,memory=256Gi")
	f.Add(dumped)
	f.Fuzz(func(t *testing.T, text string) {
		n := &Nodes{}
		if IsShape(text) {
			if err := n.AddShape(text); err == nil && len(n.Nodes) == 0 {
				t.Error("a shape of no nodes")
			}
			return
		}
		if err := n.AddFile("nodes", []byte(text)); err != nil && !strings.HasPrefix(err.Error(), "nodes:") {
			t.Errorf("an error does not name the file: %v", err)
		}
	})
}
