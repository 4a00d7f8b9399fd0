package commandline

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

func TestMain(m *testing.M) { lab.Main(m) }

// cluster is one with a muster in it.
type cluster struct {
	*lab.Lab
	muster string // the path of the binary
	debug  string // the URL at which it is looked at
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	debug, rescheduler := lab.FreeAddress(t), lab.FreeAddress(t)
	l := &cluster{Lab: lab.Take(t, lab.Options{Options: controlplane.Options{
		PodPorts:       map[int]string{8887: debug, 8889: rescheduler},
		APIServerFlags: []string{"--kubelet-preferred-address-types=InternalIP"},
	}})}
	l.muster, l.debug = lab.Program(l.T), "http://"+debug
	l.Must(l.StartKWOK(t.Context()))
	l.Create(workload.NewNode("a", "4", workload.ForKWOK))
	l.Reschedule(l.Muster(muster.Options{Debug: debug}), muster.Options{}, rescheduler)
	return l
}

// run creates a pod with the labels that the chart gives to a pair, and returns when it is ready.
func (l *cluster) run(namespace, name string, ports ...corev1.ContainerPort) {
	l.Helper()
	l.install(workload.NewPod(name, "0", workload.In(namespace), workload.On("a"), func(pod *corev1.Pod) {
		pod.Labels = map[string]string{"app.kubernetes.io/name": "muster", "app.kubernetes.io/instance": "muster"}
		pod.Spec.Containers = []corev1.Container{{Name: "muster", Image: "muster", Ports: ports}, {Name: "rescheduler", Image: "muster"}}
	}))
}

// install creates a pod, and returns when it is ready.
func (l *cluster) install(pod *corev1.Pod) {
	l.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: pod.Namespace}} // that its pods are of
	if err := l.Try(account); !apierrors.IsAlreadyExists(err) {
		l.Must(err)
	}
	l.Create(pod)
	l.Eventually("the pod is ready", func() error {
		pod, err := l.Client.CoreV1().Pods(pod.Namespace).Get(l.Context(), pod.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		}) {
			return fmt.Errorf("it is %s", pod.Status.Phase)
		}
		return nil
	})
}

// allow gives a user rights in a namespace, and returns the user's kubeconfig.
func (l *cluster) allow(user, namespace string, rules ...rbacv1.PolicyRule) string {
	l.Helper()
	kubeconfig, err := l.KubeconfigFor(user)
	l.Must(err)
	if len(rules) > 0 {
		l.Create(
			&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: user, Namespace: namespace}, Rules: rules},
			&rbacv1.RoleBinding{
				ObjectMeta: metav1.ObjectMeta{Name: user, Namespace: namespace}, RoleRef: rbacv1.RoleRef{Kind: "Role", Name: user},
				Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: user}},
			},
		)
	}
	return kubeconfig
}

// tells runs a command with a kubeconfig, and returns its exit status and all that it prints.
func (l *cluster) tells(kubeconfig string, command ...string) (int, string) {
	l.Helper()
	cmd := exec.CommandContext(l.Context(), command[0], command[1:]...)
	cmd.Env = append(cmd.Environ(), "KUBECONFIG="+kubeconfig, "PATH="+filepath.Dir(l.muster)+string(filepath.ListSeparator)+os.Getenv("PATH"))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		l.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String()
}

// says fails unless a command ends with a status and says all of something.
func (l *cluster) says(kubeconfig string, status int, command []string, wants ...string) {
	l.Helper()
	got, told := l.tells(kubeconfig, command...)
	if got != status {
		l.Errorf("%v: exit status %d, want %d", command, got, status)
	}
	for _, want := range wants {
		if !strings.Contains(told, want) {
			l.Errorf("%v: %q is not in:\n%s", command, want, told)
		}
	}
}

func TestAMusterInAClusterIsAskedWithAKubeconfig(t *testing.T) {
	l := newCluster(t)
	admin := l.Kubeconfig()
	status, explain := []string{l.muster, "status"}, []string{l.muster, "explain", "pod/muster-0", "--muster-namespace=kube-system"}
	l.says(admin, 1, status, "no pod in any namespace has the labels app.kubernetes.io/name=muster")
	l.run("kube-system", "muster-0")

	l.says(
		admin,
		0,
		status,
		"asked          pod kube-system/muster-0, port 8887, context muster-e2e\n",
		", ready",
		"\nrescheduler  mode DryRun, ",
	)
	l.says("absent", 0, append(slices.Clone(status), "--kubeconfig="+admin), "asked          pod kube-system/muster-0")
	l.says(admin, 1, append(slices.Clone(status), "--context=other"), `no context is called "other": there are muster-e2e`)
	l.says(admin, 0, append(slices.Clone(explain), "-n=kube-system"), "pod kube-system/muster-0 is bound to node a\n")
	l.says(admin, 1, explain, `no pod "default/muster-0" in the view of the cluster`)

	reader := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list"}}
	forwarder := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods/portforward"}, Verbs: []string{"create"}}
	l.says(l.allow("nobody", ""), 1, status, "you may list pods neither in all namespaces nor in kube-system", `User "nobody" cannot list`)
	l.says(l.allow("reader", "kube-system", reader), 1, status, "you may not forward ports to it", `User "reader" cannot create`)
	both := l.allow("both", "kube-system", reader, forwarder)
	l.says(both, 0, status, "asked          pod kube-system/muster-0", "\nrescheduler  mode DryRun, ")
	l.says(both, 1, append(slices.Clone(status), "--muster-namespace=default"), "you may not list pods in namespace default")

	l.run("kube-public", "muster-2", corev1.ContainerPort{Name: "debug", ContainerPort: 7}) // at which nothing listens
	l.says(admin, 1, append(slices.Clone(status), "-n=kube-public"), "muster cannot be asked: pod kube-public/muster-2, port 7: ")
	l.Must(l.Client.CoreV1().Pods("kube-public").Delete(l.Context(), "muster-2", metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}))

	l.run("default", "muster-1")
	l.says(admin, 1, status, "the muster runs in several namespaces: choose one with --muster-namespace: default, kube-system")
	l.says(admin, 0, append(slices.Clone(status), "-n=default"), "asked          pod default/muster-1")
}
