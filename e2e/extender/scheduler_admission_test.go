package extender_test

import (
	"bytes"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

// setsSchedulers has two profiles of their own: of pods that show that they are of a JobSet or a RayCluster, and of pods that
// Volcano knows. muster's own namespace is another one than kube-system.
const setsSchedulers = `
leaderElection: {resourceNamespace: muster-system}
profiles:
- {schedulerName: default-scheduler, gates: UntilMembers}
- {schedulerName: batch, gates: UntilMembers, defaultFor: [JobSet, RayCluster]}
- {schedulerName: placed, nodeSelection: Muster, gates: UntilPlace, defaultFor: [Volcano]}
`

// schedulerPolicy is a policy that sets schedulers, with its binding.
type schedulerPolicy struct {
	admissionregistrationv1.MutatingAdmissionPolicy
	binding admissionregistrationv1.MutatingAdmissionPolicyBinding
}

// printedSchedulerPolicies are what `muster scheduler-policy` prints for the configuration of a server.
func (c *cluster) printedSchedulerPolicies(s *server) (policies []schedulerPolicy) {
	c.Helper()
	printed, err := exec.CommandContext(c.Context(), lab.Program(c.T), "scheduler-policy", "--config="+s.Config()).Output()
	c.Must(err)
	for document := range slices.Chunk(bytes.Split(printed, []byte("\n---\n")), 2) {
		var p schedulerPolicy
		c.Must(yaml.UnmarshalStrict(document[0], &p.MutatingAdmissionPolicy))
		c.Must(yaml.UnmarshalStrict(document[1], &p.binding))
		policies = append(policies, p)
	}
	return policies
}

// setSchedulers has the API server set the schedulers of pods by itself, or by asking muster as docs/install.md has it.
func (c *cluster) setSchedulers(s *server, by muster.Gatekeeper, first bool) {
	c.Helper()
	policies := c.printedSchedulerPolicies(s)
	if by == muster.Policy {
		for _, p := range policies {
			c.Create(&p.MutatingAdmissionPolicy, &p.binding)
		}
		return
	}
	// Webhooks are asked in the order of the names of their configurations.
	name := "muster-scheduler"
	if first {
		name = "a-scheduler"
	}
	configuration := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: name}}
	webhook := func(name string, namespaces *metav1.LabelSelector, conditions ...admissionregistrationv1.MatchCondition) {
		gates := s.webhook("members.gates.muster.dev")
		gates.Name, gates.NamespaceSelector, gates.MatchConditions = name+".muster.dev", namespaces, conditions
		_, scheduler, _ := strings.Cut(name, ".")
		gates.ClientConfig.URL = new(strings.Replace(*gates.ClientConfig.URL, "/webhook/gates", "/webhook/scheduler/"+scheduler, 1))
		configuration.Webhooks = append(configuration.Webhooks, gates)
	}
	for _, scheduler := range []string{"batch", "placed"} {
		webhook("namespaces."+scheduler, &metav1.LabelSelector{MatchLabels: map[string]string{v1alpha1.LabelScheduler: scheduler}})
	}
	byKind := policies[1]
	webhook("kinds.batch", byKind.binding.Spec.MatchResources.NamespaceSelector, conditions(&byKind, "batch")...)
	webhook("kinds.placed", byKind.binding.Spec.MatchResources.NamespaceSelector, conditions(&byKind, "placed")...)
	c.Create(configuration)
}

// conditions returns the conditions of a policy, for the pods alone that go to a scheduler.
func conditions(p *schedulerPolicy, scheduler string) (all []admissionregistrationv1.MatchCondition) {
	for _, condition := range p.Spec.MatchConditions {
		condition.Expression = strings.Replace(condition.Expression, `) != "default-scheduler"`, fmt.Sprintf(") == %q", scheduler), 1)
		all = append(all, condition)
	}
	return all
}

// webhook is one by which the API server asks a muster for gates.
func (s *server) webhook(name string) admissionregistrationv1.MutatingWebhook {
	s.Helper()
	all, err := s.Client.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(s.Context(), "muster", metav1.GetOptions{})
	s.Must(err)
	for _, webhook := range all.Webhooks {
		if webhook.Name == name {
			return webhook
		}
	}
	s.Fatalf("there is no webhook %s", name)
	return admissionregistrationv1.MutatingWebhook{}
}

// shows makes a pod look as one of a controller's, which there need not be.
func shows(apiVersion, kind string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.OwnerReferences = append(pod.OwnerReferences, metav1.OwnerReference{
			APIVersion: apiVersion, Kind: kind, Name: "o", UID: "o", Controller: new(true),
		})
	}
}

// admitted has what admission sets of a pod.
type admitted struct{ Scheduler, Gates string }

func TestWhoNamesNoSchedulerGetsTheOneOfItsNamespaceOrItsKind(t *testing.T) {
	t.Parallel()
	for name, way := range map[string]struct {
		by    muster.Gatekeeper
		first bool // schedulers are asked for before gates
	}{
		"policy": {by: muster.Policy}, "webhook": {by: muster.Webhook}, "webhook, asked first": {by: muster.Webhook, first: true},
	} {
		t.Run(name, func(t *testing.T) {
			lab.LongUnless(t, way.by == muster.Policy)
			c := newCluster(t)
			s := c.serve(muster.Options{Gates: muster.UntilMembers, GatedBy: way.by, Text: setsSchedulers})
			c.setSchedulers(s, way.by, way.first)
			labelled := c.namespace("labelled", map[string]string{v1alpha1.LabelScheduler: "batch"})
			ahead := c.namespace("ahead", map[string]string{v1alpha1.LabelScheduler: "placed", v1alpha1.LabelAhead: "true"})
			misspelt := c.namespace("misspelt", map[string]string{v1alpha1.LabelScheduler: "bacht"})
			own := c.namespace("muster-system", nil)
			jobSet, rayCluster := workload.Labelled("jobset.sigs.k8s.io/jobset-name", "j"), shows("ray.io/v1", "RayCluster")
			volcano := workload.Annotated("scheduling.k8s.io/group-name", "g")
			daemon := shows("apps/v1", "DaemonSet")
			const gang, single, byDefault = v1alpha1.SchedulingGate, v1alpha1.AheadGate, corev1.DefaultSchedulerName
			type change = []func(*corev1.Pod)
			tests := []struct {
				name string
				pod  change
				want admitted
			}{
				{"a pod of a JobSet", change{jobSet}, admitted{"batch", gang}},
				{"a pod of a RayCluster", change{rayCluster}, admitted{"batch", gang}},
				{"a pod that names a group of Volcano", change{volcano}, admitted{"placed", gang}},
				{"a pod of two kinds, which goes to the first profile", change{volcano, jobSet}, admitted{"batch", gang}},
				{"a pod of a kind that no profile lists", change{shows("kubeflow.org/v1", "PyTorchJob")}, admitted{byDefault, gang}},
				{"a pod", nil, admitted{byDefault, ""}},
				{"one of a kind that names another scheduler", change{jobSet, workload.ScheduledBy("mine")}, admitted{"mine", ""}},
				{"one of a kind with a node", change{jobSet, workload.On("n")}, admitted{byDefault, ""}},
				{"one of a kind and a DaemonSet", change{jobSet, daemon}, admitted{byDefault, gang}},
				{"one of a kind, in kube-system", change{jobSet, workload.In(metav1.NamespaceSystem)}, admitted{byDefault, gang}},
				{"one of a kind, in muster's own namespace", change{jobSet, workload.In(own)}, admitted{byDefault, gang}},
				{"one of a kind, where the label names no profile", change{jobSet, workload.In(misspelt)}, admitted{byDefault, gang}},
				{"one of a kind, where the label names another profile", change{volcano, workload.In(labelled)}, admitted{"batch", gang}},
				{"a pod of a labelled namespace", change{workload.In(labelled)}, admitted{"batch", ""}},
				{"one that names another scheduler", change{workload.In(labelled), workload.ScheduledBy("mine")}, admitted{"mine", ""}},
				{"one that has a node", change{workload.In(labelled), workload.On("n")}, admitted{byDefault, ""}},
				{"one of a DaemonSet", change{workload.In(labelled), daemon}, admitted{byDefault, ""}},
				{"one of the system", change{workload.In(labelled), workload.OfPriority("system-cluster-critical")}, admitted{byDefault, ""}},
				{
					"muster's own",
					change{workload.In(labelled), workload.Labelled("app.kubernetes.io/name", "muster")},
					admitted{byDefault, ""},
				},
				{"a pod that is opted in to be placed ahead", change{workload.In(ahead)}, admitted{"placed", single}},
				{
					"one that is opted out",
					change{workload.In(ahead), workload.Labelled(v1alpha1.LabelAhead, "false")},
					admitted{"placed", ""},
				},
				{"a member that is opted in", change{workload.In(ahead), workload.InGang("g")}, admitted{"placed", gang}},
			}
			was := func(pod change) (admitted, error) {
				made, err := c.wouldBe(workload.NewPod("trial", "1", append(change{workload.ScheduledBy("")}, pod...)...))
				if err != nil {
					return admitted{}, err
				}
				var gates []string
				for _, gate := range made.Spec.SchedulingGates {
					gates = append(gates, gate.Name)
				}
				return admitted{made.Spec.SchedulerName, strings.Join(gates, ",")}, nil
			}
			c.Eventually("schedulers are set", func() error {
				for _, i := range []int{0, 2, 13, 19} { // each policy, or webhook, is in force
					if got, err := was(tests[i].pod); err != nil || got != tests[i].want {
						return fmt.Errorf("%s is %v, error %w", tests[i].name, got, err)
					}
				}
				return nil
			})
			for _, test := range tests {
				t.Run(test.name, func(t *testing.T) {
					got, err := was(test.pod)
					if err != nil {
						t.Fatal(err)
					}
					if diff := gocmp.Diff(test.want, got); diff != "" {
						t.Errorf("(-want +got):\n%s", diff)
					}
				})
			}
		})
	}
}

// A pod is given a scheduler once, when it is created: nobody takes it from the one that has it.
func TestAPodThatIsThereKeepsItsScheduler(t *testing.T) {
	c := newCluster(t)
	s := c.serve(muster.Options{Gates: muster.UntilMembers, Text: setsSchedulers})
	c.createPods(workload.NewPod("before", "1", workload.Labelled("jobset.sigs.k8s.io/jobset-name", "j")))
	c.setSchedulers(s, muster.Policy, false)
	c.Eventually("schedulers are set", func() error {
		made, err := c.wouldBe(workload.NewPod("after", "1", workload.Labelled("jobset.sigs.k8s.io/jobset-name", "j")))
		if err == nil && made.Spec.SchedulerName != "batch" {
			err = fmt.Errorf("a pod has %s", made.Spec.SchedulerName)
		}
		return err
	})
	pod := c.Pod("before")
	metav1.SetMetaDataLabel(&pod.ObjectMeta, "changed", "yes")
	_, err := c.Client.CoreV1().Pods(pod.Namespace).Update(t.Context(), pod, metav1.UpdateOptions{})
	c.Must(err)
	if got := c.Pod("before").Spec.SchedulerName; got != corev1.DefaultSchedulerName {
		t.Errorf("it has the scheduler %s", got)
	}
}

// Admission loses nobody: whom it does not reach is default-scheduler's, and muster says so.
func TestWhoIsNotGivenASchedulerIsDefaultSchedulers(t *testing.T) {
	c := newCluster(t)
	options := muster.Options{Gates: muster.UntilMembers, GatedBy: muster.Webhook, Text: setsSchedulers}
	s := c.serve(options)
	c.setSchedulers(s, muster.Webhook, false)
	pod := func(name string) *corev1.Pod {
		return workload.NewPod(name, "1", workload.Labelled("jobset.sigs.k8s.io/jobset-name", "j"))
	}
	c.Eventually("schedulers are set", func() error {
		made, err := c.wouldBe(pod("before"))
		if err == nil && made.Spec.SchedulerName != "batch" {
			err = fmt.Errorf("a pod has %s", made.Spec.SchedulerName)
		}
		return err
	})
	s.Stop()
	c.createPods(pod("missed"))
	if got := c.Pod("missed").Spec; got.SchedulerName != corev1.DefaultSchedulerName || len(got.SchedulingGates) > 0 {
		t.Errorf("it has the scheduler %s and the gates %v", got.SchedulerName, got.SchedulingGates)
	}
	options.Text = strings.Replace(options.Text, "- {schedulerName: default-scheduler, gates: UntilMembers}\n", "", 1)
	c.Must(s.Configure(options))
	c.Must(s.Relaunch())
	c.Eventually("muster explains it", func() error {
		page, err := s.Page(t.Context(), "/debug/explain?pod="+workload.Namespace+"/missed")
		if err == nil && !strings.Contains(page, "by the label muster.dev/scheduler of its namespace or by its kind") {
			err = fmt.Errorf("it says %s", page)
		}
		return err
	})
}

// Nobody has written a scheduler into the template of the JobSet: its pods start whole by muster all the same.
func TestAJobSetAsItComesStartsWhole(t *testing.T) {
	t.Parallel()
	for _, by := range []muster.Gatekeeper{muster.Policy, muster.Webhook} {
		t.Run(string(by), func(t *testing.T) {
			lab.LongUnless(t, by == muster.Policy)
			resource := schema.GroupVersionResource{Group: "jobset.x-k8s.io", Version: "v1alpha2", Resource: "jobsets"}
			o, w := newOperator(t, resource, "JobSet", muster.Options{Gates: muster.UntilMembers, GatedBy: by, Text: setsSchedulers})
			o.setSchedulers(w.server, by, false)
			o.Eventually("schedulers are set", func() error {
				made, err := o.wouldBe(workload.NewPod("trial", "1", workload.Labelled("jobset.sigs.k8s.io/jobset-name", "j")))
				if err == nil && made.Spec.SchedulerName != "batch" {
					err = fmt.Errorf("a pod has %s", made.Spec.SchedulerName)
				}
				return err
			})
			pods := jobSet(o)
			o.EventuallyIs("its pods are there", pods, func() int { return len(o.Pods()) })
			for name, pod := range o.Pods() {
				if pod.Spec.SchedulerName != "batch" {
					t.Errorf("%s is of %s", name, pod.Spec.SchedulerName)
				}
			}
			o.createNodes(workload.NewNodes("node", pods-1, "4")...)
			w.settles(exactly(map[string]int{}))
			o.createNodes(workload.NewNode("last", "4"))
			w.settles(exactly(map[string]int{"": pods}))
		})
	}
}
