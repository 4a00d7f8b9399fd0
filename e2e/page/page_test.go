package page

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/proxy"

	reschedulingv1alpha1 "muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/api/scheduling/v1alpha1"
	slov1alpha1 "muster.dev/muster/api/slo/v1alpha1"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

const (
	namespace = "default"
	gpu       = "nvidia.com/gpu"
)

func TestMain(m *testing.M) { lab.Main(m) }

// cluster has 12 nodes in two zones, the first four with GPUs, pods of one controller, a gang that waits and a plan that nobody
// carries out.
type cluster struct {
	*lab.Lab
	server *muster.Server
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	l := &cluster{Lab: lab.Take(t, lab.Options{
		CRDs: true, Options: controlplane.Options{Controllers: []string{"serviceaccount-controller"}},
	})}
	l.Must(l.StartKWOK(t.Context()))
	for i := range 12 {
		l.Create(workload.NewNode(fmt.Sprintf("worker-%d", i+1), "4", func(node *corev1.Node) {
			node.Labels[corev1.LabelTopologyZone] = string("ab"[i%2])
			if i < 4 {
				node.Status.Allocatable[gpu] = resource.MustParse("8")
			}
		}))
	}
	l.server = l.MusterWithScheduler(muster.Options{Load: map[string]any{"source": "NodeMetric"}})
	for i := range 16 {
		l.createPod(fmt.Sprintf("web-%d", i), "1500m", func(pod *corev1.Pod) {
			pod.OwnerReferences = []metav1.OwnerReference{
				{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "web", Controller: new(true)},
			}
		})
	}
	for i := range 3 {
		l.createPod(fmt.Sprintf("trainer-%d", i), "1", workload.Labelled(v1alpha1.LabelMuster, "training"),
			workload.Annotated(v1alpha1.AnnotationMinMember, "5"))
	}
	l.createPlan("makeroom-1", reschedulingv1alpha1.DryRun)
	return l
}

// createPod creates one that asks for 1 GiB as well.
func (l *cluster) createPod(name, cpu string, change ...func(*corev1.Pod)) {
	l.Helper()
	l.Create(workload.NewPod(name, cpu, append(change, func(pod *corev1.Pod) {
		pod.Spec.Containers[0].Resources.Requests["memory"] = resource.MustParse("1Gi")
	})...))
}

// deletePod deletes one at once.
func (l *cluster) deletePod(name string) {
	l.Helper()
	l.Must(l.Client.CoreV1().Pods(namespace).Delete(l.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}))
}

func (l *cluster) createPlan(name string, mode reschedulingv1alpha1.Mode) {
	l.Helper()
	step := func(pod, from, to, why string) reschedulingv1alpha1.Step {
		return reschedulingv1alpha1.Step{
			Pod:         reschedulingv1alpha1.PodReference{Namespace: namespace, Name: pod, UID: "uid"},
			Controller:  reschedulingv1alpha1.Controller{Kind: "ReplicaSet", Name: "web", UID: "web"},
			Replacement: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}}},
			From:        from, To: to, Why: why,
		}
	}
	plan, err := reschedulingv1alpha1.Encode(&reschedulingv1alpha1.ReschedulingPlan{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: reschedulingv1alpha1.ReschedulingPlanSpec{
			Policy: reschedulingv1alpha1.MakeRoom, Mode: mode, Expires: metav1.NewTime(time.Now().Add(time.Hour)),
			Beneficiaries: []reschedulingv1alpha1.Beneficiary{{
				PodReference: reschedulingv1alpha1.PodReference{Namespace: namespace, Name: "big", UID: "big"}, Node: "worker-1",
			}},
			Steps: []reschedulingv1alpha1.Step{
				step("web-1", "worker-2", "worker-5", "makes room for default/web-0"),
				step("web-0", "worker-1", "worker-2", "makes room for default/big"),
			},
		},
	})
	l.Must(err)
	_, err = l.Dynamic.Resource(reschedulingv1alpha1.ReschedulingPlans()).Create(l.Context(), plan, metav1.CreateOptions{})
	l.Must(err)
}

// measure says what a node uses.
func (l *cluster) measure(node string, cpu, memory string) {
	l.Helper()
	client := l.Dynamic.Resource(slov1alpha1.NodeMetrics())
	object := map[string]any{
		"apiVersion": "slo.koordinator.sh/v1alpha1", "kind": "NodeMetric", "metadata": map[string]any{"name": node}, "spec": map[string]any{},
	}
	made, err := client.Create(l.Context(), &unstructured.Unstructured{Object: object}, metav1.CreateOptions{})
	l.Must(err)
	made.Object["status"] = map[string]any{
		"updateTime": time.Now().UTC().Format(time.RFC3339),
		"nodeMetric": map[string]any{"nodeUsage": map[string]any{"resources": map[string]any{"cpu": cpu, "memory": memory}}},
	}
	_, err = client.UpdateStatus(l.Context(), made, metav1.UpdateOptions{})
	l.Must(err)
}

// prefix is how the API server's proxy serves a pod.
const prefix = "/api/v1/namespaces/kube-system/pods/muster:8887/proxy"

// behindProxy serves muster under the prefix, by the code that the API server does it with.
func (l *cluster) behindProxy() string {
	to, err := url.Parse(l.server.DebugURL())
	l.Must(err)
	server := httptest.NewServer(http.StripPrefix(prefix, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		location := *to
		location.Path, location.RawQuery = r.URL.Path, r.URL.RawQuery
		transport := &proxy.Transport{Scheme: "http", Host: r.Host, PathPrepend: prefix, RoundTripper: http.DefaultTransport}
		proxy.NewUpgradeAwareHandler(&location, transport, false, false, failure{l.T}).ServeHTTP(w, r)
	})))
	l.Cleanup(server.Close)
	return server.URL
}

type failure struct{ *testing.T }

func (f failure) Error(w http.ResponseWriter, _ *http.Request, err error) {
	f.Logf("the proxy: %v", err)
	http.Error(w, err.Error(), http.StatusBadGateway)
}

func TestThePageShowsTheClusterAndKeepsUpWithIt(t *testing.T) {
	chromium(t) // before all that takes long: it may skip
	l := newCluster(t)
	b := newBrowser(t)
	for i := range 6 {
		l.measure(fmt.Sprintf("worker-%d", i+1), fmt.Sprintf("%dm", 600*i+300), fmt.Sprintf("%dGi", 2*i+3))
	}
	at, err := url.Parse(l.server.DebugURL())
	l.Must(err)
	b.theme("light")
	b.run(chromedp.Navigate(l.server.DebugURL() + "/"))
	b.eventually("every node has a cell", `document.querySelectorAll('#heat li').length === 12`)
	b.eventually("a gang waits, and why", `
		/default\/training[^]*5 must start together/.test(document.querySelector('#gangs li')?.textContent) &&
		document.querySelector('#gangs .why').textContent.length > 0`)
	l.createPod("huge", "100")
	b.eventually("pods that wait, by what they wait for", `(() => {
		const reasons = [...document.querySelectorAll('#pending summary')].map((summary) => summary.textContent);
		return reasons.length === 2 && /^3 pods without an owner in default, for .*gang default\/training: /.test(reasons[0]) &&
			/^1 pod without an owner in default, for less than a minutekube-scheduler has found no node$/.test(reasons[1]);
	})()`)
	b.click(`#pending details:last-of-type summary`)
	b.click(`#pending details:last-of-type a`)
	b.eventually("why a pod waits, two clicks away", `
		document.querySelector('#opened-pod .why')?.textContent === 'It waits: it fits on no node.' &&
		/NodeResourcesFit[^]*Insufficient cpu[^]*12/.test(document.querySelector('#opened-pod tbody').textContent) &&
		location.hash === '#pod=default%2Fhuge'`)
	b.run(chromedp.SetValue(`#find-pod`, "default/trainer-1"), chromedp.Click(`#find button`))
	b.eventually("or one search", `
		/^It waits as a member of gang default\/training/.test(document.querySelector('#opened-pod .why')?.textContent) &&
		document.querySelectorAll('#opened-pod table:last-of-type tbody tr').length > 0`)
	l.deletePod("huge")
	b.opensWhatThereIs()
	b.eventually("the class of the pods of a controller, and its use", `
		/ReplicaSet default\/web/.test(document.querySelector('#classes tbody')?.textContent) &&
		/\d+ %/.test(document.querySelector('#classes .rate')?.textContent)`)
	b.eventually("a plan, as moves between nodes", `
		document.querySelectorAll('#plans svg .move').length === 3 && document.querySelectorAll('#plans svg .lane').length === 3`)
	b.eventually("the arrow of the first move begins where the pod is, and ends where it goes", `(() => {
		const lane = (name) => [...document.querySelectorAll('#plans .lane')].find((lane) => lane.textContent === name)
			.querySelector('line').getBoundingClientRect().y;
		const arrow = document.querySelector('#plans .move').getBoundingClientRect();
		return Math.abs(arrow.top + 4 - lane('worker-2')) < 3 && Math.abs(arrow.bottom - lane('worker-5')) < 3;
	})()`)

	b.choosesWhatIsSeen()
	b.run(chromedp.Click(`//label[contains(., 'measured load')]`))
	b.eventually("half of the nodes are measured", `
		document.querySelectorAll('#heat li[data-level="none"]').length === 6 &&
		document.querySelector('#heat li').textContent.includes('8 %')`)
	b.run(chromedp.Click(`//label[contains(., 'requests')]`))

	b.click(`#heat-table summary`)
	b.eventually("the map is a table as well", `document.querySelectorAll('#heat-table tbody tr:not([hidden])').length === 12`)
	b.run(chromedp.Focus(`#heat li[tabindex="0"]`), chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.End))
	b.eventually("the keyboard walks through the nodes", `
		document.activeElement.textContent.startsWith('worker-12') &&
		/^\d+ % of CPU requested, \d pods$/.test(document.activeElement.ariaDescription) &&
		document.querySelectorAll('#heat [aria-description]').length === 1 && document.querySelector('#node h3').textContent === 'worker-12 b'`)
	b.eventually("a bar is as long as its share, and empty where nothing was measured", `
		[...document.querySelectorAll('#node .bar')].every((bar) => {
			const share = parseInt(bar.nextSibling.textContent) || 0;
			return Math.abs(100 * bar.firstChild.offsetWidth / bar.offsetWidth - share) < 2;
		})`)

	l.Create(workload.NewNode("worker-13", "4"))
	l.createPod("late", "3500m")
	b.eventually("a node that comes and a pod that is bound there are shown", `
		document.querySelectorAll('#heat li').length === 13 &&
		[...document.querySelectorAll('#heat li')].at(-1).textContent.includes('88 %')`)
	b.eventually("what had the focus has it still", `document.activeElement.textContent.startsWith('worker-12')`)

	b.click(`#pause`)
	b.eventually("it says that it is paused", `document.querySelector('#state').textContent === 'paused'`)
	b.click(`#pause`)
	b.eventually("it goes on", `document.querySelector('#state').textContent === 'live; 3 pods pending'`)

	b.eventually("it is ready, and says so", `document.querySelector('#process').textContent === 'ready'`)
	for _, theme := range []string{"light", "dark"} {
		b.isAccessible(theme)
		b.violates(theme)
		b.screenshot(theme)
	}
	b.choose("group", "zone")
	b.click(`#heat li`)
	b.eventually("a node is open", `document.querySelector('#opened-node tbody') !== null`)
	b.violates("opened")
	b.choose("group", "")
	eval[bool](b, `(() => {
		const ask = window.fetch;
		const status = { unready: 'another replica is the leader', config: { refused: ['profiles: Required value'] } };
		window.fetch = (path, options) => (path === 'debug/status' ? Promise.resolve(Response.json(status)) : ask(path, options));
		return true;
	})()`)
	b.eventually(
		"it is not ready, and says why",
		`document.querySelector('#process.bad')?.textContent === 'not ready: another replica is the leader; its changed configuration file is `+
			`refused: profiles: Required value'`,
	)
	b.isContent(at.Host)
	l.createPlan("makeroom-2", reschedulingv1alpha1.Approve)
	b.eventually("how a plan is approved", `document.querySelector('.approval code')?.textContent ===
		'kubectl annotate reschedulingplan makeroom-2 rescheduling.muster.dev/approve=true'`)
	b.run(chromedp.SetValue(`#find-pod`, "default/late"), chromedp.Click(`#find button`))
	b.eventually("a pod is open", `document.querySelector('#opened-pod h3')?.textContent === 'pod default/late'`)
	l.deletePod("late")
	b.eventually("it says so when it is gone", `
		/^It is gone: .*no pod "default\/late"/.test(document.querySelector('#opened-pod .bad')?.textContent)`)
	b.run(chromedp.SetValue(`#find-pod`, "default/nobody"), chromedp.Click(`#find button`))
	b.eventually("a pod that is not there", `document.querySelector('#opened-pod')?.textContent.includes('no pod "default/nobody"')`)
	b.run(chromedp.Navigate("about:blank"), chromedp.Navigate(l.server.DebugURL()+"/#gang=default%2Fnobody"))
	b.eventually("a gang that is not there", `
		document.querySelector('#opened-gang .empty')?.textContent.includes('there is no gang default/nobody')`)

	t.Run("behind the proxy of the API server", func(t *testing.T) {
		address := l.behindProxy()
		p := newBrowser(t)
		p.run(chromedp.Navigate(address + prefix + "/"))
		p.eventually("every node has a cell", `document.querySelectorAll('#heat li').length === 13`)
		p.eventually("the plans are drawn", `document.querySelectorAll('#plans svg .move').length === 6`)
		p.isContent(strings.TrimPrefix(address, "http://"))
		p.click(`footer a`)
		p.eventually(
			"the index, whose links hold", `[...document.querySelectorAll('a')].some((a) => new URL(a.href).pathname === '`+prefix+`/debug/nodes')`,
		)
	})
}
