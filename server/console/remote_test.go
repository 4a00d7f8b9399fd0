package console

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/inspect"
	"muster.dev/muster/server/app"
	"muster.dev/muster/server/leadership"
	"muster.dev/muster/server/remote"
	"muster.dev/muster/server/servertest"
)

// asker asks the bench as the commands do.
func (b *bench) asker() *remote.Client {
	b.Helper()
	client, err := remote.New(remote.Options{Server: b.URL})
	if err != nil {
		b.Fatal(err)
	}
	return client
}

func printed(t *testing.T, answer inspect.Answer) string {
	t.Helper()
	var text bytes.Buffer
	if err := inspect.Print(&text, answer, inspect.Text); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func TestPeopleAreToldWhereAPodIsOrWhyItWaits(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*corev1.Pod)
		want   string
		placed bool
	}{
		"bound": {func(p *corev1.Pod) { p.Spec.NodeName = "a" }, "pod default/p is bound to node a\n", true},
		"fits":  {func(*corev1.Pod) {}, "pod default/p waits for kube-scheduler to try it\n", true},
		"fits nowhere": {
			func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"zone": "x"} }, "pod default/p waits: it fits on no node\n",
			false,
		},
		"of another scheduler": {
			func(p *corev1.Pod) { p.Spec.SchedulerName = "theirs" },
			"pod default/p waits for a scheduler that is not muster's: no profile for spec.schedulerName \"theirs\"; the profiles are: " +
				"default-scheduler, other\n",
			false,
		},
		"gated": {
			func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "quota"}} },
			"pod default/p is held back by scheduling gates: quota\n", true,
		},
		"a member of a gang": {
			func(p *corev1.Pod) { p.Labels = map[string]string{v1alpha1.LabelMuster: "g"} },
			"pod default/p waits as a member of gang default/g, pending: there is no PodGroup g", true,
		},
		"bound by another's ask": {
			func(p *corev1.Pod) { p.Spec.SchedulerName, p.Spec.NodeName = "theirs", "a" }, "pod default/p is bound to node a\n", true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, benchOptions{gangs: true})
			b.Node("a", "4")
			pod := servertest.Pod("p", "1")
			test.change(pod)
			if err := b.Cluster.Set(pod); err != nil {
				t.Fatal(err)
			}
			if pod.Labels != nil {
				b.Filter(pod, "a") // the gang finds out why it waits
			}
			got, err := b.asker().Explain(t.Context(), "default", "p")
			if err != nil {
				t.Fatal(err)
			}
			if text := printed(t, got); !strings.HasPrefix(text, test.want) || got.Placed() != test.placed {
				t.Errorf("placed %t, told:\n%s\nwant %s", got.Placed(), text, test.want)
			}
		})
	}
}

func TestRefusalsAreGroupedAndTheBestNodesShown(t *testing.T) {
	b := newBench(t, benchOptions{})
	b.Node("small-1", "1", servertest.Cordoned)
	b.Node("small-2", "1")
	b.Node("big", "10")
	if err := b.Cluster.Set(servertest.Pod("p", "5")); err != nil {
		t.Fatal(err)
	}
	got, err := b.asker().Explain(t.Context(), "default", "p")
	if err != nil {
		t.Fatal(err)
	}
	const head = `pod default/p waits for kube-scheduler to try it
member of no gang: it has no mark of one, such as muster.dev/pod-group, and no owner that makes one
profile default-scheduler: fits on 1 of 3 nodes; 1 lack room alone; 1 refuse it otherwise

`
	const want = head + `NODES  REFUSED BY         BECAUSE
2      NodeResourcesFit   Insufficient cpu
1      NodeUnschedulable  node(s) were unschedulable

NODE  FITS  TOTAL  NodeResourcesFit×1  NodeResourcesBalancedAllocation×1  AGAINST
big   true  136    74                  62                                 
`
	if diff := cmp.Diff(want, printed(t, got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	all := printed(t, got.Everything())
	if rest, found := strings.CutPrefix(all, head); !found || len(strings.Split(strings.TrimSpace(rest), "\n")) != 4 {
		t.Errorf("with every node:\n%s", all)
	}
}

func TestAMusterThatDoesNotScheduleSaysSo(t *testing.T) {
	b := newBench(t, benchOptions{state: state{serving: app.ErrBeginning}})
	b.Node("a", "4")
	if err := b.Cluster.Set(servertest.Pod("p", "1")); err != nil {
		t.Fatal(err)
	}
	got, err := b.asker().Explain(t.Context(), "default", "p")
	if err != nil {
		t.Fatal(err)
	}
	if want := "this muster does not schedule (this replica is beginning to lead): "; !strings.Contains(printed(t, got), want) {
		t.Errorf("does not say %q:\n%s", want, printed(t, got))
	}
}

func TestWithoutAViewOfTheClusterNothingIsExplained(t *testing.T) {
	b := newBench(t, benchOptions{state: state{serving: app.ErrNotSynced}})
	if _, err := b.asker().
		Explain(t.Context(), "default", "p"); err == nil ||
		!strings.Contains(err.Error(), "is not ready: the view of the cluster is not complete yet") {
		t.Errorf("error %v", err)
	}
}

func TestStatusIsAllInShort(t *testing.T) {
	b := newFullBench(t, func(o *benchOptions) {
		o.state = state{serving: app.ErrBeginning, refused: &app.Refusal{Errors: []string{"profiles[0]: wrong"}}}
	})
	nobody := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(nobody.Close)
	beside, err := remote.New(remote.Options{Server: nobody.URL})
	if err != nil {
		t.Fatal(err)
	}
	got := remote.AskStatus(t.Context(), b.asker(), beside)
	if got.Muster == nil {
		t.Fatal(got.MusterError)
	}
	text := printed(t, got)
	for _, want := range []string{
		"not ready: this replica is beginning to lead", "refused what the file holds now: profiles[0]: wrong", "3 nodes, ", ", 2 pending",
		"1 waiting, 0 starting, 0 started", "default/g waits: ", "\nPROFILE ", "\nthe rescheduler cannot be asked: 404 page not found\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("does not say %q:\n%s", want, text)
		}
	}
	if status, page := b.Get("/debug/status"); status != http.StatusOK ||
		!strings.Contains(text, strings.TrimPrefix(page, "muster in short\n\n")) {
		t.Errorf("the page says something else, %d:\n%s\nthan:\n%s", status, page, text)
	}
}

func TestStatusSaysWhyAReplicaStandsBy(t *testing.T) {
	b := newFullBench(t, func(o *benchOptions) { o.state = state{serving: leadership.ErrStandingBy} })
	got, err := b.asker().Overview(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text := printed(t, got)
	if !strings.Contains(text, ", ready\n") || !strings.Contains(text, leadership.ErrStandingBy.Error()) {
		t.Errorf("it says:\n%s", text)
	}
}

func TestPodsThatWaitAreListed(t *testing.T) {
	b := newFullBench(t)
	got, err := b.asker().Waiting(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"default/m", "default/p"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
