package chart

import (
	"context"
	"fmt"
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
)

// gatesOf are the gates of the pods that there are.
func (c *cluster) gatesOf() map[string][]string {
	c.Helper()
	pods, err := c.client.CoreV1().Pods("default").List(c.Context(), metav1.ListOptions{})
	c.must(err)
	gates := map[string][]string{}
	for i := range pods.Items {
		gates[pods.Items[i].Name] = []string{}
		for _, gate := range pods.Items[i].Spec.SchedulingGates {
			gates[pods.Items[i].Name] = append(gates[pods.Items[i].Name], gate.Name)
		}
	}
	return gates
}

// aheadPod is one of default-scheduler that is opted in, or a member, by its label.
func aheadPod(name, label, value string) *corev1.Pod {
	pod := newPod(name, "ahead", "1")
	pod.Spec.SchedulerName, pod.Labels = corev1.DefaultSchedulerName, map[string]string{label: value}
	return pod
}

// createGated creates pods which the chart's policies gate, once they are in force.
func (c *cluster) createGated() {
	c.Helper()
	for _, pod := range []*corev1.Pod{
		aheadPod("single", v1alpha1.LabelAhead, "true"), aheadPod("member", v1alpha1.LabelX, "g"), aheadPod("none", "app", "web"),
	} {
		if pod.Name == "single" {
			pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/approval"}}
		}
		c.eventually("pod "+pod.Name+" would be gated as it is to be", func() error {
			made, err := c.client.CoreV1().Pods("default").Create(c.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			if err == nil && pod.Name != "none" && len(made.Spec.SchedulingGates) == len(pod.Spec.SchedulingGates) {
				err = fmt.Errorf("it is not gated")
			}
			return err
		})
		_, err := c.client.CoreV1().Pods("default").Create(c.Context(), pod, metav1.CreateOptions{})
		c.must(err)
	}
	want := map[string][]string{"single": {"example.com/approval", v1alpha1.AheadGate}, "member": {v1alpha1.SchedulingGate}, "none": {}}
	if diff := cmp.Diff(want, c.gatesOf()); diff != "" {
		c.Fatalf("gates (-want +got):\n%s", diff)
	}
}

// pause lets a moment pass, unless the context ends before.
func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(50 * time.Millisecond):
		return nil
	}
}

// runJob does what a controller and a kubelet do: it runs the program of a Job, once that is there, as its account.
func (c *cluster) runJob(name string) error {
	var job *batchv1.Job
	for job == nil {
		found, err := c.client.BatchV1().Jobs(namespace).Get(c.Context(), name, metav1.GetOptions{})
		switch {
		case err == nil:
			job = found
		case !apierrors.IsNotFound(err):
			return err
		default:
			if err := pause(c.Context()); err != nil {
				return err
			}
		}
	}
	spec := job.Spec.Template.Spec
	began := metav1.Now()
	out, err := said(c.Context(), nil, programs.muster, append(slices.Clone(spec.Containers[0].Args),
		"--kubeconfig="+c.kubeconfigOf(spec.ServiceAccountName))...)
	if err != nil {
		return err
	}
	c.Logf("the Job said:\n%s", out)
	ended := metav1.Now()
	job.Status = batchv1.JobStatus{StartTime: &began, CompletionTime: &ended, Succeeded: 1}
	for _, kind := range []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete} {
		job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{
			Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: ended,
		})
	}
	_, err = c.client.BatchV1().Jobs(namespace).UpdateStatus(c.Context(), job, metav1.UpdateOptions{})
	return err
}

func TestWhatIsGatedIsReleasedWhenMusterIsUninstalled(t *testing.T) {
	c := newCluster(t)
	c.helm("install", release, chartDir, "--values", way("ahead"))
	c.createGated()
	done := make(chan error, 1)
	go func() { done <- c.runJob("muster-release") }()
	c.helm("uninstall", release, "--wait", "--timeout=2m")
	c.must(<-done)
	want := map[string][]string{"single": {"example.com/approval"}, "member": {}, "none": {}}
	if diff := cmp.Diff(want, c.gatesOf()); diff != "" {
		t.Errorf("gates (-want +got):\n%s", diff)
	}
	for what, left := range map[string]func() error{
		"its account": func() error {
			_, err := c.client.CoreV1().ServiceAccounts(namespace).Get(t.Context(), "muster-release", metav1.GetOptions{})
			return err
		},
		"its role": func() error {
			_, err := c.client.RbacV1().ClusterRoles().Get(t.Context(), "muster-release", metav1.GetOptions{})
			return err
		},
		"the policy": func() error {
			_, err := c.client.AdmissionregistrationV1().MutatingAdmissionPolicies().Get(t.Context(), "muster-ahead", metav1.GetOptions{})
			return err
		},
	} {
		if err := left(); !apierrors.IsNotFound(err) {
			t.Errorf("%s is still there, error %v", what, err)
		}
	}
}

// What is said of a pod that was released.
const saidOfMember = "default/member  muster.dev/gang\n"

func TestPodsAreReleasedWhenNobodyWritesToTheLeaseOfMuster(t *testing.T) {
	c := newCluster(t)
	c.helm("install", release, chartDir, "--values", way("ahead"))
	config := configOf(t, render(t, "--values", way("ahead")))
	c.createGated()
	run := func(args ...string) string {
		t.Helper()
		out, err := said(
			t.Context(),
			nil,
			programs.muster,
			append([]string{"release", "--config=" + config, "--kubeconfig=" + c.Kubeconfig()}, args...)...)
		c.must(err)
		return out
	}
	if out := run("--dry-run"); !strings.Contains(out, saidOfMember) || !strings.HasSuffix(out, "2 pods would be released\n") {
		t.Errorf("a dry run says:\n%s", out)
	}
	if out := run("--namespace=kube-system"); out != "0 pods released\n" {
		t.Errorf("of another namespace it says:\n%s", out)
	}

	// A leader whose clock is years behind, and which renews its lease all the time.
	leases := c.client.CoordinationV1().Leases(namespace)
	lease, err := leases.Create(t.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: release},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: new("a"), LeaseDurationSeconds: new(int32(1))},
	}, metav1.CreateOptions{})
	c.must(err)
	leads, ended := context.WithCancel(t.Context())
	renewed := make(chan error, 1)
	go func() {
		for at := time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC); leads.Err() == nil; at = at.Add(time.Second) {
			lease.Spec.RenewTime = new(metav1.NewMicroTime(at))
			if lease, err = leases.Update(t.Context(), lease, metav1.UpdateOptions{}); err != nil {
				break
			}
			_ = pause(leads)
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
	c.must(<-renewed)
	if out := run("--when-away=3s"); !strings.Contains(out, saidOfMember) || !strings.HasSuffix(out, "2 pods released\n") {
		t.Errorf("when muster is away, it says:\n%s", out)
	}
	if gates := c.gatesOf(); len(gates["member"]) > 0 || !slices.Equal(gates["single"], []string{"example.com/approval"}) {
		t.Errorf("gates %v", gates)
	}
}

func TestWhoMayNotReleasePodsIsToldOfEach(t *testing.T) {
	c := newCluster(t)
	c.helm("install", release, chartDir, "--values", way("external"), "--set=config.gangs.gates=UntilPlace,rescheduler.enabled=true")
	pod := newPod("member", "ahead", "1")
	pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: v1alpha1.SchedulingGate}}
	c.eventually("a pod is created", func() error {
		_, err := c.client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{})
		return err
	})
	_, err := said(t.Context(), nil, programs.muster, "release", "--kubeconfig="+c.kubeconfigOf("muster-rescheduler"))
	if err == nil || !strings.Contains(err.Error(), "muster: default/member: pods \"member\" is forbidden") ||
		!strings.Contains(err.Error(), "muster: 1 pods were not released") {
		t.Errorf("error %v", err)
	}
	out, err := said(t.Context(), nil, programs.muster, "release", "--kubeconfig="+c.kubeconfigOf("muster"), "--config="+
		configOf(t, render(t, "--values", way("external"))))
	if err != nil || out != "default/member  muster.dev/gang\n1 pods released\n" {
		t.Errorf("muster's account said, error %v:\n%s", err, out)
	}
}
