package commandline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/process"
)

// patience is a limit for what takes seconds on an idle machine.
const patience = 2 * time.Minute

// lab is a cluster with a muster in it.
type lab struct {
	*testing.T
	*controlplane.ControlPlane
	client kubernetes.Interface
	muster string // the path of the binary
	dir    string
}

func newLab(t *testing.T) *lab {
	debug, rescheduler := freeAddress(t), freeAddress(t)
	l := &lab{T: t, dir: t.TempDir(), ControlPlane: controlplane.ForTest(t, controlplane.Options{
		PodPorts:       map[int]string{8887: debug, 8889: rescheduler},
		APIServerFlags: []string{"--kubelet-preferred-address-types=InternalIP"},
	})}
	var err error
	l.client, err = kubernetes.NewForConfig(l.RESTConfig())
	l.must(err)
	l.muster, err = binaries.BuildMuster(t.Context(), t.Output())
	l.must(err)
	l.must(l.StartKWOK(t.Context()))
	_, err = l.client.CoreV1().Nodes().Create(t.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "a"},
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourcePods: resource.MustParse("10"),
		}},
	}, metav1.CreateOptions{})
	l.must(err)
	l.start("muster", "http://"+debug, "serve", "--listen=127.0.0.1:0", "--debug-listen="+debug)
	config := filepath.Join(l.dir, "rescheduler.yaml")
	l.must(os.WriteFile(config, []byte(
		"apiVersion: config.muster.dev/v1alpha2\nkind: MusterConfiguration\nrescheduler: {listen: '"+rescheduler+"'}\n"), 0o600))
	l.start("rescheduler", "http://"+rescheduler, "reschedule", "--config="+config)
	return l
}

func freeAddress(t *testing.T) string {
	t.Helper()
	port, err := process.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}

func (l *lab) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

// start runs a process of muster until the test ends, and returns when it is ready.
func (l *lab) start(name, url string, args ...string) {
	l.Helper()
	started, err := process.Start(process.Spec{
		Name: name, Path: l.muster, Log: filepath.Join(l.dir, name+".log"), Args: append(args, "--kubeconfig="+l.Kubeconfig()),
	})
	l.must(err)
	l.Cleanup(func() { started.Stop(patience) })
	ctx, cancel := context.WithTimeout(l.Context(), patience)
	defer cancel()
	l.must(started.Await(ctx, func(context.Context) error {
		response, err := http.Get(url + "/readyz")
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return errors.New(response.Status)
		}
		return nil
	}))
}

// run creates a pod with the labels that the chart gives to a pair, and returns when it is ready.
func (l *lab) run(namespace, name string, ports ...corev1.ContainerPort) {
	l.Helper()
	_, err := l.client.CoreV1().Pods(namespace).Create(l.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			"app.kubernetes.io/name": "muster", "app.kubernetes.io/instance": "muster",
		}},
		Spec: corev1.PodSpec{
			NodeName: "a", Containers: []corev1.Container{{Name: "muster", Image: "muster", Ports: ports}, {Name: "rescheduler", Image: "muster"}},
		},
	}, metav1.CreateOptions{})
	l.must(err)
	l.eventually("the pod is ready", func() error {
		pod, err := l.client.CoreV1().Pods(namespace).Get(l.Context(), name, metav1.GetOptions{})
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

func (l *lab) eventually(what string, check func() error) {
	l.Helper()
	ctx, cancel := context.WithTimeout(l.Context(), patience)
	defer cancel()
	ticks := time.NewTicker(200 * time.Millisecond)
	defer ticks.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			l.Fatalf("%s: %v", what, err)
		case <-ticks.C:
		}
	}
}

// allow gives a user rights in a namespace, and returns the user's kubeconfig.
func (l *lab) allow(user, namespace string, rules ...rbacv1.PolicyRule) string {
	l.Helper()
	kubeconfig, err := l.KubeconfigFor(user)
	l.must(err)
	if len(rules) > 0 {
		_, err = l.client.RbacV1().Roles(namespace).Create(l.Context(), &rbacv1.Role{
			ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: rules,
		}, metav1.CreateOptions{})
		l.must(err)
		_, err = l.client.RbacV1().RoleBindings(namespace).Create(l.Context(), &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: user}, RoleRef: rbacv1.RoleRef{Kind: "Role", Name: user},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: user}},
		}, metav1.CreateOptions{})
		l.must(err)
	}
	return kubeconfig
}

// tells runs a command with a kubeconfig, and returns its exit status and all that it prints.
func (l *lab) tells(kubeconfig string, command ...string) (int, string) {
	l.Helper()
	ctx, cancel := context.WithTimeout(l.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = append(cmd.Environ(), "KUBECONFIG="+kubeconfig, "PATH="+l.dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		l.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String()
}

// says fails unless a command ends with a status and says all of something.
func (l *lab) says(kubeconfig string, status int, command []string, wants ...string) {
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
	l := newLab(t)
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
	l.must(l.client.CoreV1().Pods("kube-public").Delete(l.Context(), "muster-2", metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}))

	l.run("default", "muster-1")
	l.says(admin, 1, status, "the muster runs in several namespaces: choose one with --muster-namespace: default, kube-system")
	l.says(admin, 0, append(slices.Clone(status), "-n=default"), "asked          pod default/muster-1")
}
