package chart

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/muster"
)

// foreign are kinds that other products bring; this API server does not know them.
func foreign() []string {
	return []string{"Certificate", "PodMonitor", "PrometheusRule", "ServiceMonitor"}
}

func TestTheAPIServerAcceptsWhatIsRendered(t *testing.T) {
	c := newCluster(t)
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(c.Client.Discovery()))
	c.createNamespace("restricted", map[string]string{"pod-security.kubernetes.io/enforce": "restricted"})
	dryRun := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	for name, values := range ways(t) {
		t.Run(name, func(t *testing.T) {
			c := c.of(t)
			objects := render(t, "--values", values)
			for _, object := range objects {
				kind := object.GroupVersionKind()
				mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
				if meta.IsNoMatchError(err) && slices.Contains(foreign(), kind.Kind) {
					t.Logf("NOT VALIDATED: %s %s, which this API server does not know", kind.GroupVersion(), kind.Kind)
					continue
				}
				c.Must(err)
				client := c.Dynamic.Resource(mapping.Resource).Namespace(object.GetNamespace())
				if _, err := client.Create(t.Context(), object, dryRun); err != nil {
					t.Errorf("%s %s: %v", kind.Kind, object.GetName(), err)
				}
				if kind.Kind == "Deployment" {
					c.isRestricted(deployment(t, objects, object.GetName()).Spec.Template.Spec)
				}
			}
		})
	}
}

// isRestricted has the API server hold a pod to the restricted Pod Security Standard.
func (c *cluster) isRestricted(spec corev1.PodSpec) {
	c.Helper()
	spec.ServiceAccountName, spec.PriorityClassName = "default", "system-cluster-critical" // existing ones
	c.Eventually("the pod is accepted where pods are restricted", func() error {
		_, err := c.wouldBe(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "trial", Namespace: "restricted"}, Spec: spec})
		return err
	})
}

// seldom are rights that are used for what the tests below do not bring about.
func seldom() []string {
	return []string{
		// The record of a start met another version of the PodGroup (gang/record).
		"get podgroups.scheduling.x-k8s.io", "get podgroups.scheduling.sigs.k8s.io",
		// The answer to a binding got lost, or the API server says that the pod is bound (server/extender/bind.go).
		"get pods.",
		// kube-scheduler was told whom to evict for a gang and did not (gang/core/clearing.go).
		"delete pods.",
		// The same happened to the same object again, and its event becomes a series (client-go, tools/events).
		"patch events.events.k8s.io",
		// An answer has stood for five minutes, and nobody has deleted it (server/questions).
		"delete questions.explanation.muster.dev",
		// Kueue is not in this cluster. The test of its admission check answers a real one (e2e/manifests, server/placeable).
		"list workloads.kueue.x-k8s.io", "watch workloads.kueue.x-k8s.io", "patch workloads/status.kueue.x-k8s.io",
		"list admissionchecks.kueue.x-k8s.io", "watch admissionchecks.kueue.x-k8s.io", "patch admissionchecks/status.kueue.x-k8s.io",
		"list topologies.kueue.x-k8s.io", "watch topologies.kueue.x-k8s.io", "list topologies.kai.scheduler", "watch topologies.kai.scheduler",
		"list resourceflavors.kueue.x-k8s.io", "watch resourceflavors.kueue.x-k8s.io",
		// The API server asks for it when resourceclaims/status is updated: no request is about it.
		"update resourceclaims/binding.resource.k8s.io",
	}
}

func TestRightsThatAreUsedSeldomAreThere(t *testing.T) {
	t.Parallel()
	rights := rightsOf(t, render(t, installedValues("external")...), "muster")
	for _, name := range seldom() {
		if !slices.ContainsFunc(rights, func(r right) bool { return r.String() == name }) {
			t.Errorf("muster has no right to %s", name)
		}
	}
}

func TestEverythingWorksBesideAKubeSchedulerWithTheChartsOwnRightsAndNeedsEachOfThem(t *testing.T) {
	lab.Long(t)
	c, values := newCluster(t), installedValues("external")
	c.install(values...)
	k := newKubelet(c)
	pod := k.runs("muster")
	k.runs("muster-rescheduler")

	c.smoke(k, func() {
		config, err := muster.SchedulerConfig(t.Context(), k.muster, k.url("http", portVerbs, ""), "--config="+pod.path("config", "muster.yaml"))
		c.Must(err)
		c.Schedule(config)
	})
	rendered := render(t, values...)
	for _, account := range []string{"muster", "muster-rescheduler"} {
		c.judge(account, rightsOf(t, rendered, account))
	}
}

func TestEverythingWorksInOnePodWithAKubeSchedulerWithTheChartsOwnRightsAndNeedsEachOfThem(t *testing.T) {
	c, values := newCluster(t), installedValues("sidecar")
	c.install(values...)
	k := newKubelet(c)
	pod := k.pod("muster")
	version, err := c.Client.Discovery().ServerVersion()
	c.Must(err)
	if got, want := pod.spec.Containers[0].Image, "registry.k8s.io/kube-scheduler:"+version.GitVersion; got != want {
		t.Errorf("the kube-scheduler is %s, want %s, as it is run here", got, want)
	}
	pod.start(pod.spec.InitContainers)

	c.smoke(k, func() { pod.start(pod.spec.Containers) })
	// By the API server it tells who may read its metrics.
	admin, err := rest.HTTPClientFor(&rest.Config{TLSClientConfig: rest.TLSClientConfig{
		Insecure: true, CertData: c.RESTConfig().CertData, KeyData: c.RESTConfig().KeyData,
	}})
	c.Must(err)
	if _, err := read(admin, k.url("https", portScheduler, "/metrics")); err != nil {
		t.Error(err)
	}
	if _, err := get(k.url("https", portScheduler, "/metrics")); err == nil {
		t.Error("kube-scheduler's metrics can be read by everybody")
	}
	rendered := render(t, values...)
	c.judge("muster", append(rightsOf(t, rendered, "muster"), rightsOf(t, rendered, "muster-rescheduler")...))
}

// installedValues are flags of Helm with what is installed.
func installedValues(mode string) []string {
	return []string{"--values", filepath.Join("testdata", "installed-values.yaml"), "--set", "scheduler.mode=" + mode}
}

// smoke tries each thing that muster can do, with a kube-scheduler that is started meanwhile, and looks for what is measured of it.
func (c *cluster) smoke(k *kubelet, startScheduler func()) {
	c.Helper()
	c.Must(c.StartKWOK(c.Context()))
	c.Must(c.StartMetricsServer(c.Context()))
	s := smoke{c, k.url("http", portVerbs, ""), k.url("http", portSeparate, "/separate")}
	s.operators()
	s.nominations()
	startScheduler()
	s.usage()
	s.pods()
	s.gangs()
	s.devices()
	s.preemption()
	s.rescheduling()
	s.questions()
	served(c.T, k.url("http", portHealth, "/metrics"), k.url("http", portRescheduler, "/metrics"))
}

// judge waits until the requests of an account have used all its rights.
func (c *cluster) judge(account string, rights []right) {
	c.Helper()
	rights = slices.DeleteFunc(rights, func(r right) bool { return slices.Contains(seldom(), r.String()) })
	var forbidden, unused []string
	c.Eventually("every right of "+account+" is used", func() error {
		if forbidden, unused = judge(c.audit.requestsOf(c.T, account), rights); len(unused) > 0 {
			return fmt.Errorf("unused: %s", strings.Join(unused, ", "))
		}
		return nil
	})
	if len(forbidden) > 0 {
		c.Errorf("%s was forbidden to %s", account, strings.Join(forbidden, ", "))
	}
}

// previous is the chart of the version before this one, as `helm package charts/muster` made it.
const previous = "testdata/muster-0.1.0.tgz"

func TestUpgradeAndUninstallLeaveCustomResourcesAlone(t *testing.T) {
	lab.Long(t)
	c := newCluster(t)
	c.helm("install", release, previous, "--set=image.repository=example.com/muster,rescheduler.enabled=true,service.clusterIP=10.0.0.88")
	c.createCustomResources()
	before := c.customResources()

	apply := []string{"--kubeconfig=" + c.Kubeconfig(), "apply", "--server-side", "--force-conflicts", "-f", chartDir + "/crds"}
	_, err := said(t.Context(), c.kubectl(), apply...)
	c.Must(err)
	definitions := c.definitions()
	if len(definitions) != 5 {
		t.Errorf("%d CustomResourceDefinitions are there, want 5", len(definitions))
	}
	// What the previous chart did is mode external; then to another mode, and back.
	c.helm("upgrade", release, chartDir, "--values", way("external"), "--set=rescheduler.enabled=true")
	if got := strings.TrimSpace(c.helm("list", "--output", "json")); !strings.Contains(got, `"revision":"2"`) ||
		!strings.Contains(got, `"status":"deployed"`) {
		t.Errorf("after the upgrade Helm lists %s", got)
	}
	c.helm("upgrade", release, chartDir, "--values", way("gates"), "--set=rescheduler.enabled=true")
	c.helm("rollback", release, "2")
	if diff := cmp.Diff(before, c.customResources()); diff != "" {
		t.Errorf("custom resources before (-) and after the upgrade (+):\n%s", diff)
	}
	c.helm("uninstall", release)
	if diff := cmp.Diff(before, c.customResources()); diff != "" {
		t.Errorf("custom resources before (-) and after muster was uninstalled (+):\n%s", diff)
	}
	if diff := cmp.Diff(definitions, c.definitions()); diff != "" {
		t.Errorf("CustomResourceDefinitions before (-) and after muster was uninstalled (+):\n%s", diff)
	}
	if _, err := c.Client.CoreV1().ServiceAccounts(namespace).Get(t.Context(), release, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the ServiceAccount is still there, error %v", err)
	}
}

// versions say by name which objects there are, and which specs they have. The API server writes on
// by itself what else is in them.
type versions map[string]string

func (c *cluster) definitions() versions {
	c.Helper()
	return c.versions(customResourceDefinitions())
}

func (c *cluster) customResources() versions {
	c.Helper()
	all := versions{}
	for _, kind := range customResources() {
		maps.Copy(all, c.versions(kind))
	}
	return all
}
