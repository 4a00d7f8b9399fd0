package chart

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/await"
	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/workload"
)

// gatesOf are the gates of the pods that there are.
func (c *cluster) gatesOf() map[string][]string {
	c.Helper()
	pods, err := c.Client.CoreV1().Pods("default").List(c.Context(), metav1.ListOptions{})
	c.Must(err)
	gates := map[string][]string{}
	for i := range pods.Items {
		gates[pods.Items[i].Name] = gatesOf(&pods.Items[i])
	}
	return gates
}

func gatesOf(pod *corev1.Pod) []string {
	names := []string{}
	for _, gate := range pod.Spec.SchedulingGates {
		names = append(names, gate.Name)
	}
	return names
}

// aheadPod is one of default-scheduler that is opted in, or a member, by its label.
func aheadPod(name, label, value string, change ...func(*corev1.Pod)) *corev1.Pod {
	change = append(change, workload.ScheduledBy(corev1.DefaultSchedulerName), workload.Labelled(label, value))
	return newPod(name, "ahead", "1", change...)
}

// createGated creates pods which the chart's policies gate, once they are in force.
func (c *cluster) createGated() {
	c.Helper()
	for _, pod := range []*corev1.Pod{
		aheadPod("single", v1alpha1.LabelAhead, "true", gatedBy("example.com/approval")),
		aheadPod("member", v1alpha1.LabelX, "g"), aheadPod("none", "app", "web"),
	} {
		c.Eventually("pod "+pod.Name+" would be gated as it is to be", func() error {
			made, err := c.wouldBe(pod)
			if err == nil && pod.Name != "none" && made.Gates == strings.Join(gatesOf(pod), ",") {
				err = errors.New("it is not gated")
			}
			return err
		})
		c.Create(pod)
	}
	want := map[string][]string{"single": {"example.com/approval", v1alpha1.AheadGate}, "member": {v1alpha1.SchedulingGate}, "none": {}}
	if diff := cmp.Diff(want, c.gatesOf()); diff != "" {
		c.Fatalf("gates (-want +got):\n%s", diff)
	}
}

// runJob does what a controller and a kubelet do: it runs the program of a Job, once that is there, as its account.
func (c *cluster) runJob(name string) error {
	var job *batchv1.Job
	err := await.Until(c.Context(), "there is the Job "+name, func(ctx context.Context) (err error) {
		job, err = c.Client.BatchV1().Jobs(namespace).Get(ctx, name, metav1.GetOptions{})
		return err
	})
	if err != nil {
		return err
	}
	spec := job.Spec.Template.Spec
	began := metav1.Now()
	out, err := musterSaid(c.T, append(slices.Clone(spec.Containers[0].Args), "--kubeconfig="+c.kubeconfigOf(spec.ServiceAccountName))...)
	if err != nil {
		return err
	}
	c.Logf("the Job said:\n%s", out)
	ended := metav1.Now()
	job.Status = batchv1.JobStatus{StartTime: &began, CompletionTime: &ended, Succeeded: 1}
	for _, kind := range []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete} {
		met := batchv1.JobCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: ended}
		job.Status.Conditions = append(job.Status.Conditions, met)
	}
	_, err = c.Client.BatchV1().Jobs(namespace).UpdateStatus(c.Context(), job, metav1.UpdateOptions{})
	return err
}

func TestWhatIsGatedIsReleasedWhenMusterIsUninstalled(t *testing.T) {
	lab.Long(t)
	c := newCluster(t)
	c.install("--values", way("ahead"))
	c.createGated()
	done := make(chan error, 1)
	go func() { done <- c.runJob("muster-release") }()
	c.helm("uninstall", release, "--wait", "--timeout="+await.Patience.String())
	c.Must(<-done)
	want := map[string][]string{"single": {"example.com/approval"}, "member": {}, "none": {}}
	if diff := cmp.Diff(want, c.gatesOf()); diff != "" {
		t.Errorf("gates (-want +got):\n%s", diff)
	}
	_, account := c.Client.CoreV1().ServiceAccounts(namespace).Get(t.Context(), "muster-release", metav1.GetOptions{})
	_, role := c.Client.RbacV1().ClusterRoles().Get(t.Context(), "muster-release", metav1.GetOptions{})
	_, policy := c.Client.AdmissionregistrationV1().MutatingAdmissionPolicies().Get(t.Context(), "muster-ahead", metav1.GetOptions{})
	for what, err := range map[string]error{"its account": account, "its role": role, "the policy": policy} {
		if !apierrors.IsNotFound(err) {
			t.Errorf("%s is still there, error %v", what, err)
		}
	}
}

// What is said of a pod that was released.
const saidOfMember = "default/member  muster.dev/gang\n"

func TestPodsAreReleasedWhenNobodyWritesToTheLeaseOfMuster(t *testing.T) {
	lab.Long(t)
	c := newCluster(t)
	c.install("--values", way("ahead"))
	config := configOf(t, render(t, "--values", way("ahead")))
	c.createGated()
	run := func(args ...string) string {
		t.Helper()
		out, err := musterSaid(t, append([]string{"release", "--config=" + config, "--kubeconfig=" + c.Kubeconfig()}, args...)...)
		c.Must(err)
		return out
	}
	if out := run("--dry-run"); !strings.Contains(out, saidOfMember) || !strings.HasSuffix(out, "2 pods would be released\n") {
		t.Errorf("a dry run says:\n%s", out)
	}
	if out := run("--namespace=kube-system"); out != "0 pods released\n" {
		t.Errorf("of another namespace it says:\n%s", out)
	}

	// A leader whose clock is years behind, and which renews its lease all the time.
	leases := c.Client.CoordinationV1().Leases(namespace)
	lease, err := leases.Create(t.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: release},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: new("a"), LeaseDurationSeconds: new(int32(1))},
	}, metav1.CreateOptions{})
	c.Must(err)
	leads, ended := context.WithCancel(t.Context())
	renewed := make(chan error, 1)
	go func() {
		for at := time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC); leads.Err() == nil; at = at.Add(time.Second) {
			lease.Spec.RenewTime = new(metav1.NewMicroTime(at))
			if lease, err = leases.Update(t.Context(), lease, metav1.UpdateOptions{}); err != nil {
				break
			}
			select {
			case <-leads.Done():
			case <-time.After(50 * time.Millisecond):
			}
		}
		renewed <- err
	}()
	if out := run("--when-away=10s"); out != "muster leads: no gate is lifted\n" {
		t.Errorf("while muster leads, it says:\n%s", out)
	}
	if len(c.gatesOf()["member"]) == 0 {
		t.Error("it was released while muster leads")
	}
	ended()
	c.Must(<-renewed)
	if out := run("--when-away=3s"); !strings.Contains(out, saidOfMember) || !strings.HasSuffix(out, "2 pods released\n") {
		t.Errorf("when muster is away, it says:\n%s", out)
	}
	if gates := c.gatesOf(); len(gates["member"]) > 0 || !slices.Equal(gates["single"], []string{"example.com/approval"}) {
		t.Errorf("gates %v", gates)
	}
}

func TestWhoMayNotReleasePodsIsToldOfEach(t *testing.T) {
	lab.Long(t)
	c := newCluster(t)
	c.install("--values", way("external"), "--set=config.profiles[0].gates=UntilPlace,rescheduler.enabled=true")
	c.Create(newPod("member", "ahead", "1", gatedBy(v1alpha1.SchedulingGate)))
	_, err := musterSaid(t, "release", "--kubeconfig="+c.kubeconfigOf("muster-rescheduler"))
	if err == nil || !strings.Contains(err.Error(), "muster: default/member: pods \"member\" is forbidden") ||
		!strings.Contains(err.Error(), "muster: 1 pods were not released") {
		t.Errorf("error %v", err)
	}
	config := configOf(t, render(t, "--values", way("external")))
	out, err := musterSaid(t, "release", "--kubeconfig="+c.kubeconfigOf("muster"), "--config="+config)
	if err != nil || out != "default/member  muster.dev/gang\n1 pods released\n" {
		t.Errorf("muster's account said, error %v:\n%s", err, out)
	}
}
