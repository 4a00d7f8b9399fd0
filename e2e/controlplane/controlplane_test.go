package controlplane_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	authenticationv1 "k8s.io/api/authentication/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/controlplane"
)

// patience is a limit for what takes a second or two on an idle machine.
const patience = time.Minute

func TestAControlPlaneRunsWorkloads(t *testing.T) {
	ctx := t.Context()
	cp := controlplane.ForTest(t, controlplane.Options{Controllers: controlplane.DefaultControllers()})
	if err := cp.StartKWOK(ctx); err != nil {
		t.Fatal(err)
	}
	const gate = "SchedulerAsyncAPICalls" // off by default
	if err := cp.StartScheduler(ctx, controlplane.SchedulerOptions{FeatureGates: map[string]bool{gate: true}}); err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(cp.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Nodes().Create(ctx, node("worker"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	t.Run("a pod is scheduled and runs, and vanishes when deleted", func(t *testing.T) {
		pods := client.CoreV1().Pods("default")
		if _, err := pods.Create(ctx, pod("web"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the pod runs", func(ctx context.Context) error {
			p, err := pods.Get(ctx, "web", metav1.GetOptions{})
			if err == nil && p.Status.Phase != corev1.PodRunning {
				err = fmt.Errorf("phase %s on node %q", p.Status.Phase, p.Spec.NodeName)
			}
			return err
		})
		if err := pods.Delete(ctx, "web", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the pod vanishes", func(ctx context.Context) error {
			_, err := pods.Get(ctx, "web", metav1.GetOptions{})
			return wantNotFound(err)
		})
	})

	t.Run("a job whose pods run for a second completes", func(t *testing.T) {
		jobs := client.BatchV1().Jobs("default")
		if _, err := jobs.Create(ctx, job("import"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the job completes", func(ctx context.Context) error {
			j, err := jobs.Get(ctx, "import", metav1.GetOptions{})
			if err == nil && j.Status.Succeeded != 3 {
				err = fmt.Errorf("%d of 3 succeeded", j.Status.Succeeded)
			}
			return err
		})
	})

	t.Run("the scheduler's metrics say what it has done, and its gates", func(t *testing.T) {
		metrics, err := cp.SchedulerMetrics(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for name, label := range map[string]string{"scheduler_schedule_attempts_total": "scheduled", "kubernetes_feature_enabled": gate} {
			value := 0.0
			for _, m := range metrics[name].GetMetric() {
				if slices.ContainsFunc(m.Label, func(l *dto.LabelPair) bool { return l.GetValue() == label }) {
					value += m.GetCounter().GetValue() + m.GetGauge().GetValue()
				}
			}
			if value == 0 {
				t.Errorf("%s with a label of %q is 0 or not there", name, label)
			}
		}
	})

	t.Run("a service account's token is known and may do nothing", func(t *testing.T) {
		token, err := client.CoreV1().ServiceAccounts("default").
			CreateToken(ctx, "default", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		config := rest.AnonymousClientConfig(cp.RESTConfig())
		config.BearerToken = token.Status.Token
		account, err := kubernetes.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := account.CoreV1().Nodes().List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
			t.Errorf("listing nodes: error %v, want forbidden", err)
		}
	})

	t.Run("the API server comes back with what it knew", func(t *testing.T) {
		cp.StopAPIServer()
		if _, err := client.CoreV1().Nodes().Get(ctx, "worker", metav1.GetOptions{}); err == nil {
			t.Error("a stopped API server answers")
		}
		if err := cp.StartAPIServer(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := client.CoreV1().Nodes().Get(ctx, "worker", metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
	})

	t.Run("stopping leaves no process", func(t *testing.T) {
		pids := cp.Pids()
		if len(pids) != 5 {
			t.Errorf("%d components run, want 5: %v", len(pids), pids)
		}
		cp.Stop()
		for name, pid := range pids {
			if exists(pid) {
				t.Errorf("%s (pid %d) is still there", name, pid)
			}
		}
		select {
		case err := <-cp.Failed():
			t.Errorf("a component failed: %v", err)
		default:
		}
	})
}

func TestAComponentThatRefusesItsFlagsSaysWhy(t *testing.T) {
	cp, err := controlplane.Start(t.Context(), controlplane.Options{
		Dir:            t.TempDir(),
		APIServerFlags: []string{"--feature-gates=NoSuchGate=true"},
	})
	if err == nil {
		cp.Stop()
		t.Fatal("started with an unknown feature gate")
	}
	if !strings.Contains(err.Error(), "NoSuchGate") {
		t.Errorf("error %q, want the end of the log of %s", err, binaries.APIServer)
	}
}

func TestSchedulerOptionsAreEitherTextOrFile(t *testing.T) {
	cp := &controlplane.ControlPlane{}
	err := cp.StartScheduler(t.Context(), controlplane.SchedulerOptions{Config: "a: b", ConfigFile: "c"})
	if err == nil || !strings.Contains(err.Error(), "both") {
		t.Errorf("error %v, want one that says that the config is given twice", err)
	}
}

func eventually(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		last = check(ctx)
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("%s: %v: %v", what, err, last)
	}
}

func wantNotFound(err error) error {
	switch {
	case err == nil:
		return errors.New("still there")
	case apierrors.IsNotFound(err):
		return nil
	}
	return err
}

// exists asks with signal 0, which is never delivered.
func exists(pid int) bool {
	p, err := os.FindProcess(pid)
	return err == nil && p.Signal(syscall.Signal(0)) == nil
}

func node(name string) *corev1.Node {
	room := corev1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("8Gi"), "pods": resource.MustParse("110")}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status:     corev1.NodeStatus{Capacity: room, Allocatable: room},
	}
}

func pod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: podSpec(corev1.RestartPolicyAlways)}
}

func job(name string) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: batchv1.JobSpec{
			Completions: new(int32(3)),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{controlplane.RunsForAnnotation: "1s"}},
				Spec:       podSpec(corev1.RestartPolicyNever),
			},
		},
	}
}

func podSpec(restart corev1.RestartPolicy) corev1.PodSpec {
	return corev1.PodSpec{
		RestartPolicy: restart,
		Containers: []corev1.Container{{
			Name: "main", Image: "example.com/main",
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("100m")}},
		}},
	}
}
