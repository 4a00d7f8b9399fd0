package chart

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/workload"
)

// guide is a way to install that a page has commands for.
type guide struct {
	page      string
	scheduler string // of pods
	setUp     func(*machine)
	play      func(*machine) // what runs
}

func guides() map[string]guide {
	return map[string]guide{
		"kubeadm": {"kubeadm.md", "default-scheduler", (*machine).setUpByKubeadm, func(m *machine) { m.look("/etc/kubernetes/manifests") }},
		"k3s": {"k3s.md", "default-scheduler", func(m *machine) { m.setUpByK3s(); m.restartK3s() }, func(m *machine) {
			m.lookBeside("/var/lib/rancher/k3s/agent/pod-manifests")
		}},
		"managed": {"managed.md", "muster", func(*machine) {}, func(m *machine) { m.deployed("muster") }},
	}
}

// lookBeside is look, where more runs than static pods.
func (m *machine) lookBeside(dir string) {
	m.Helper()
	k3s := m.runs["k3s"]
	delete(m.runs, "k3s")
	m.look(dir)
	m.runs["k3s"] = k3s
}

// commandsWith are the commands of the first block of a page that has a text, a line each.
func commandsWith(t *testing.T, page, text string) []string {
	t.Helper()
	for _, block := range firstBlock.FindAllString(page, -1) {
		if strings.Contains(block, text) {
			return commandsOf(t, block)
		}
	}
	t.Fatalf("no block of commands has %q", text)
	return nil
}

// fileOfNode is an argument of a command that is a file of the machine.
var fileOfNode = regexp.MustCompile(`(--write-to|--remove-from) /\S*|--kubeconfig \S+`)

// do runs a command that a page has, on the machine, whose pods go on meanwhile.
func (m *machine) do(command string) {
	m.Helper()
	if strings.HasPrefix(command, "systemctl restart k3s") {
		m.restartK3s()
		return
	}
	command = fileOfNode.ReplaceAllStringFunc(command, func(argument string) string {
		if flag, _, _ := strings.Cut(argument, " "); flag != "--kubeconfig" {
			return flag + " " + m.root
		}
		return "--kubeconfig " + m.Kubeconfig()
	})
	cmd := exec.CommandContext(m.Context(), "sh", "-c", command)
	cmd.Env = append(os.Environ(), "PATH="+m.programs()+":"+os.Getenv("PATH"), "KUBECONFIG="+m.Kubeconfig())
	log := filepath.Join(m.logs, "commands.log")
	output, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	m.Must(err)
	defer output.Close()
	cmd.Stdout, cmd.Stderr = output, output
	m.Must(cmd.Start())
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	var ended bool
	m.Eventually("the command has ended: "+command, func() error {
		m.play(m)
		if ended {
			return nil
		}
		select {
		case err = <-done:
			ended = true
			return nil
		case <-time.After(100 * time.Millisecond):
			return errors.New("it runs")
		}
	})
	if err != nil {
		m.Fatalf("%s: %v:\n%s", command, err, textOf(m.T, log))
	}
	m.play(m)
}

// awaitControllers returns when kube-controller-manager has made what it makes by itself, so that none of it is taken for muster's.
func (c *cluster) awaitControllers() {
	c.Helper()
	c.Eventually("the controllers have begun", func() error {
		roots, err := c.Client.CoreV1().ConfigMaps("").List(c.Context(), metav1.ListOptions{FieldSelector: "metadata.name=kube-root-ca.crt"})
		if err != nil {
			return err
		}
		namespaces, err := c.Client.CoreV1().Namespaces().List(c.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		if len(roots.Items) < len(namespaces.Items) {
			return fmt.Errorf("%d of %d namespaces have the certificate of the cluster", len(roots.Items), len(namespaces.Items))
		}
		made := []string{"disruption-controller", "replicaset-controller", "root-ca-cert-publisher", "service-account-controller"}
		for _, account := range made {
			if _, err := c.Client.CoreV1().ServiceAccounts(metav1.NamespaceSystem).Get(c.Context(), account, metav1.GetOptions{}); err != nil {
				return err
			}
		}
		return nil
	})
}

// state is all that is in a cluster and lasts, by kind and name, and the texts of it that name muster.
func (c *cluster) state() map[string]string {
	c.Helper()
	_, lists, err := c.Client.Discovery().ServerGroupsAndResources()
	c.Must(err)
	passing := []string{"events", "endpoints", "endpointslices", "componentstatuses", "flowschemas"}
	state := map[string]string{}
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		c.Must(err)
		for i := range list.APIResources {
			kind := &list.APIResources[i]
			if !slices.Contains(kind.Verbs, "list") || slices.Contains(passing, kind.Name) && version.Group != "flowcontrol.apiserver.k8s.io" {
				continue
			}
			found, err := c.Dynamic.Resource(version.WithResource(kind.Name)).List(c.Context(), metav1.ListOptions{})
			c.Must(err)
			for i := range found.Items {
				object := &found.Items[i]
				object.SetManagedFields(nil)
				unstructured.RemoveNestedField(object.Object, "spec", "schedulerName") // a pod's own
				text, err := object.MarshalJSON()
				c.Must(err)
				says := ""
				if strings.Contains(string(text), "muster") {
					says = "it names muster: " + string(text)
				}
				state[kind.Kind+" "+object.GetNamespace()+"/"+object.GetName()] = says
			}
		}
	}
	return state
}

// use has pods and a gang placed, and leaves all kinds of traces.
func (m *machine) use(scheduler string) {
	m.Helper()
	by := workload.ScheduledBy(scheduler)
	m.createNode("a", "install", "8")
	m.Create(newPod("first", "install", "1", by))
	m.awaitBound("first")
	m.createPodGroup(v1alpha1.GroupX, "gang", 2)
	for i := range 2 {
		m.Create(newPod(fmt.Sprintf("gang-%d", i), "install", "1", by, workload.Labelled(v1alpha1.LabelX, "gang")))
	}
	m.awaitBound("gang-0", "gang-1")
	group, err := m.Dynamic.Resource(v1alpha1.ResourceOf(v1alpha1.GroupX)).Namespace("default").Get(m.Context(), "gang", metav1.GetOptions{})
	m.Must(err)
	if group.GetAnnotations()["muster.dev/committed"] == "" {
		m.Error("muster has not started the gang")
	}
}

// soil leaves what muster leaves, and others do, where it does more than the guides have it do.
func (m *machine) soil() {
	m.Helper()
	m.Create(newPod("gated", "install", "1", workload.ScheduledBy("nobody"), gatedBy(v1alpha1.SchedulingGate, "example.com/theirs")))
	core := m.Client.CoreV1()
	patch := func(text string) []byte { return []byte(text) }
	options := metav1.PatchOptions{FieldManager: "muster"}
	_, err := core.Namespaces().Patch(m.Context(), "default", types.MergePatchType,
		patch(`{"metadata":{"labels":{"muster.dev/scheduler":"muster"}}}`), options)
	m.Must(err)
	_, err = core.Nodes().Patch(m.Context(), "a", types.MergePatchType,
		patch(`{"metadata":{"annotations":{"rescheduling.muster.dev/emptied":"plan"}}}`), options)
	m.Must(err)
	_, err = core.Nodes().Patch(m.Context(), "a", types.StrategicMergePatchType,
		patch(`{"spec":{"taints":[{"key":"rescheduling.muster.dev/closed","effect":"NoSchedule"}]}}`), options)
	m.Must(err)
	m.Create(newPod("waits", "install", "100", workload.ScheduledBy("nobody")))
	_, err = core.Pods("default").Patch(m.Context(), "waits", types.MergePatchType,
		patch(`{"metadata":{"annotations":{"muster.dev/woken":"1"}},"status":{"nominatedNodeName":"a"}}`), options, "status")
	m.Must(err)
	_, err = core.ConfigMaps(namespace).Create(m.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "muster-rescheduler-evictions"}, Data: map[string]string{"evictions": "[]"},
	}, metav1.CreateOptions{FieldManager: "muster"})
	m.Must(err)
}

// others are objects that look like muster's, and are not.
func (m *machine) others() {
	m.Helper()
	core, theirs := m.Client.CoreV1(), map[string]string{"app.kubernetes.io/name": "muster"}
	_, err := core.ConfigMaps("default").Create(m.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "muster", Labels: theirs},
	}, metav1.CreateOptions{})
	m.Must(err)
	_, err = core.ConfigMaps(namespace).Create(m.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "their-evictions"}, Data: map[string]string{"evictions": "[]"},
	}, metav1.CreateOptions{})
	m.Must(err)
	_, err = m.Client.RbacV1().ClusterRoles().Create(m.Context(), &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "muster-things"},
	}, metav1.CreateOptions{})
	m.Must(err)
	_, err = m.Client.CoordinationV1().Leases(namespace).Create(m.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: "muster-theirs"},
	}, metav1.CreateOptions{FieldManager: "theirs"})
	m.Must(err)
}

// From nothing to a pod and a gang, and back, without Helm, by the commands that the pages have.
func TestInstalledAndUninstalledByTheCommandsOfThePages(t *testing.T) {
	lab.Long(t)
	commands, leftovers := make(chan int, len(guides())), make(chan int, len(guides()))
	t.Run("guides", func(t *testing.T) {
		for name, guide := range guides() {
			t.Run(name, func(t *testing.T) {
				c := newCluster(t)
				c.Discard()
				c.Must(c.StartKWOK(t.Context()))
				m := newMachine(c, guide.play)
				guide.setUp(m)
				m.play(m)
				m.others()
				before := c.state()
				files := maps.Collect(m.files())

				install := commandsWith(t, textOf(t, repository, "docs", "install", guide.page), "muster install --"+name)
				for _, command := range install {
					m.do(command)
				}
				m.use(guide.scheduler)
				m.do(install[0]) // again
				m.soil()

				// The workload goes first.
				groups := m.Dynamic.Resource(v1alpha1.ResourceOf(v1alpha1.GroupX)).Namespace("default")
				m.Must(groups.Delete(m.Context(), "gang", metav1.DeleteOptions{}))
				uninstall := commandsWith(t, textOf(t, repository, "docs", "install", "uninstall.md"), map[string]string{
					"kubeadm": "--kubeadm", "k3s": "--k3s", "managed": "uninstall --yes\n",
				}[name])
				for _, command := range uninstall {
					m.do(command)
				}
				left := 0
				after := c.state()
				for object, says := range after {
					ours := strings.HasPrefix(object, "Pod default/") || strings.HasPrefix(object, "Node /a") || strings.HasPrefix(object, "Lease ")
					if _, known := before[object]; !known && (!ours || says != "") {
						left++
						t.Errorf("left behind: %s %s", object, says)
					}
				}
				for object := range before {
					if _, there := after[object]; !there {
						t.Errorf("it was not muster's, and is gone: %s", object)
					}
				}
				for file, text := range m.files() {
					if files[file] != text {
						left++
						t.Errorf("left behind: %s, %s", file, text)
					}
				}
				if gates := gatesOf(m.cluster.pod("gated")); !slices.Equal(gates, []string{"example.com/theirs"}) {
					t.Errorf("gates %v", gates)
				}
				if guide.scheduler == "default-scheduler" {
					m.Create(newPod("last", "install", "1", workload.ScheduledBy(guide.scheduler)))
					m.awaitBound("last")
				}
				commands <- max(len(install), len(uninstall))
				leftovers <- left
			})
		}
	})
	close(commands)
	close(leftovers)
	most, left := 0, 0
	for n := range commands {
		most = max(most, n)
	}
	for n := range leftovers {
		left += n
	}
	if most > 2 {
		t.Errorf("%d commands, want 2", most)
	}
	t.Logf("figure install_commands=%d", most)
	t.Logf("figure leftovers=%d", left)
}

// files has the files of the machine by their paths.
func (m *machine) files() func(yield func(string, string) bool) {
	return func(yield func(string, string) bool) {
		m.Must(filepath.WalkDir(m.root, func(path string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			name, err := filepath.Rel(m.root, path)
			if err == nil && !yield(name, m.read(name)) {
				return filepath.SkipAll
			}
			return err
		}))
	}
}

// A release of Helm is Helm's: it is neither installed over nor uninstalled. What it leaves is found.
func TestAReleaseOfHelmIsLeftToHelm(t *testing.T) {
	lab.Long(t)
	c := newCluster(t)
	c.Discard()
	c.awaitControllers()
	before := c.state()
	c.install(needed()...)
	installed := c.state()
	kubeconfig := "--kubeconfig=" + c.Kubeconfig()
	_, err := musterSaid(t, "install", "--managed", "--image=example.com/muster:v1", "--apply", kubeconfig)
	if err == nil || !strings.Contains(err.Error(), "it is of the Helm release muster") ||
		!strings.Contains(err.Error(), "nothing was applied") {
		t.Errorf("error %v", err)
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(installed)), slices.Sorted(maps.Keys(c.state()))); diff != "" {
		t.Errorf("it has changed the cluster:\n%s", diff)
	}
	if said, err := musterSaid(t, "uninstall", "--yes", kubeconfig); err == nil || !strings.Contains(said, "helm uninstall muster") {
		t.Errorf("error %v, it says:\n%s", err, said)
	}
	c.helm("uninstall", release)
	if said, err := musterSaid(t, "uninstall", "--yes", kubeconfig); err != nil || !strings.Contains(said, "0 left of muster") {
		t.Errorf("error %v, it says:\n%s", err, said)
	}
	c.Eventually("nothing is left", func() error {
		if diff := cmp.Diff(slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(c.state()))); diff != "" {
			return errors.New(diff)
		}
		return nil
	})
}
