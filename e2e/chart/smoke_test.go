package chart

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	explanationv1alpha1 "muster.dev/muster/api/explanation/v1alpha1"
	reschedulingv1alpha1 "muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/api/scheduling/v1alpha1"
	slov1alpha1 "muster.dev/muster/api/slo/v1alpha1"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/workload"
)

// smoke tries each thing that muster can do, on nodes of its own, and waits until it has done it.
type smoke struct {
	*cluster
	url      string // of muster's verbs
	separate string // where the rescheduler is asked to separate pods
}

// trialLabel is the label by which each trial keeps to its nodes.
const trialLabel = "example.com/lab"

func (c *cluster) createNode(name, trial, cpu string, change ...func(*corev1.Node)) {
	c.Helper()
	c.Create(workload.NewNode(name, cpu, append([]func(*corev1.Node){workload.NodeLabelled(trialLabel, trial), func(n *corev1.Node) {
		n.Annotations[controlplane.KubeletMetricsAnnotation] = controlplane.KubeletMetricsPath(name)
		n.Status.Conditions = nil // KWOK gives an address, at which metrics-server asks, to nodes that are not ready
	}}, change...)...))
}

// newPod asks muster for a node of a trial.
func newPod(name, trial, cpu string, change ...func(*corev1.Pod)) *corev1.Pod {
	return workload.NewPod(name, cpu, append([]func(*corev1.Pod){workload.ScheduledBy("muster"), func(p *corev1.Pod) {
		p.Spec.NodeSelector, p.Spec.TerminationGracePeriodSeconds = map[string]string{trialLabel: trial}, new(int64(1))
	}}, change...)...)
}

// gatedBy adds gates to a pod.
func gatedBy(gates ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		for _, gate := range gates {
			p.Spec.SchedulingGates = append(p.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: gate})
		}
	}
}

// awaitBound waits until pods have nodes.
func (c *cluster) awaitBound(names ...string) {
	c.Helper()
	for _, name := range names {
		c.Eventually(name+" is bound", func() error {
			pod, err := c.Client.CoreV1().Pods("default").Get(c.Context(), name, metav1.GetOptions{})
			if err == nil && pod.Spec.NodeName == "" {
				err = fmt.Errorf("it is not: %v", pod.Status.Conditions)
			}
			return err
		})
	}
}

// nominations are there before kube-scheduler is.
func (s *smoke) nominations() {
	s.Helper()
	s.createNode("pods", "pods", "8")
	for i := range 3 {
		s.Create(newPod(fmt.Sprintf("pod-%d", i), "pods", "1"))
	}
	s.Eventually("a pod is nominated", func() error {
		pod, err := s.Client.CoreV1().Pods("default").Get(s.Context(), "pod-0", metav1.GetOptions{})
		if err == nil && pod.Status.NominatedNodeName == "" {
			err = errors.New("it is not")
		}
		return err
	})
}

// pods: one is bound, and a scheduler that has not heard of it asks again. A gate is lifted.
func (s *smoke) pods() {
	s.Helper()
	s.Create(newPod("gated", "pods", "1", gatedBy(v1alpha1.SchedulingGate)))
	s.awaitBound("pod-0", "pod-1", "pod-2", "gated")

	pod := s.pod("pod-0")
	body, err := json.Marshal(extenderv1.ExtenderBindingArgs{PodName: pod.Name, PodNamespace: pod.Namespace, PodUID: pod.UID, Node: "pods"})
	s.Must(err)
	response, err := http.Post(s.url+"/bind", "application/json", strings.NewReader(string(body)))
	s.Must(err)
	defer response.Body.Close()
	var answer extenderv1.ExtenderBindingResult
	s.Must(json.NewDecoder(response.Body).Decode(&answer))
	if answer.Error != "" {
		s.Errorf("a binding that is repeated fails: %s", answer.Error)
	}
}

// gangs of both API groups start whole. One has no room.
func (s *smoke) gangs() {
	s.Helper()
	s.createNode("gangs", "gangs", "8")
	for group, label := range map[string]string{v1alpha1.GroupX: v1alpha1.LabelX, v1alpha1.GroupSigs: v1alpha1.LabelSigs} {
		name := "g-" + strings.SplitN(group, ".", 3)[1]
		s.createPodGroup(group, name, 2)
		for i := range 2 {
			s.Create(newPod(fmt.Sprintf("%s-%d", name, i), "gangs", "1", workload.Labelled(label, name)))
		}
		s.awaitBound(name+"-0", name+"-1")
	}
	for i := range 2 { // how whole the domains are is told of levels that a gang asks for
		s.Create(newPod(
			fmt.Sprintf("g-near-%d", i), "gangs", "1", workload.Labelled(v1alpha1.LabelMuster, "g-near"),
			workload.Annotated(v1alpha1.AnnotationMinMember, "2"), workload.Annotated(v1alpha1.AnnotationPreferredTopology, trialLabel),
		))
	}
	s.awaitBound("g-near-0", "g-near-1")
	s.createPodGroup(v1alpha1.GroupX, "g-large", 2)
	for i := range 2 {
		s.Create(newPod(fmt.Sprintf("g-large-%d", i), "gangs", "7", workload.Labelled(v1alpha1.LabelX, "g-large")))
	}
}

// preemption: pods of lower priority go for a gang.
func (s *smoke) preemption() {
	s.Helper()
	_, err := s.Client.SchedulingV1().PriorityClasses().Create(s.Context(), &schedulingv1.PriorityClass{
		ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 1000,
	}, metav1.CreateOptions{})
	s.Must(err)
	for i := range 2 {
		node := fmt.Sprintf("preemption-%d", i)
		s.createNode(node, "preemption", "4")
		s.Create(newPod("low-"+node, "preemption", "3", workload.On(node)))
	}
	s.createPodGroup(v1alpha1.GroupX, "g-high", 2)
	for i := range 2 {
		pod := newPod(fmt.Sprintf("g-high-%d", i), "preemption", "3", workload.Labelled(v1alpha1.LabelX, "g-high"), workload.OfPriority("high"))
		s.Eventually("a pod of the priority class is created", func() error {
			_, err := s.Client.CoreV1().Pods("default").Create(s.Context(), pod, metav1.CreateOptions{})
			return err
		})
	}
	s.awaitBound("g-high-0", "g-high-1")
}

// usage: NodeMetrics are kept for nodes, as the ConfigMap says, and filled in with what metrics-server says.
func (s *smoke) usage() {
	s.Helper()
	const away = "koordinator-system"
	s.createNamespace(away, nil)
	s.createNode("usage", "usage", "4")
	s.createNode("short-lived", "usage", "4")
	s.Create(newPod("busy", "usage", "1", workload.On("usage"), func(p *corev1.Pod) {
		p.Annotations = map[string]string{"kwok.x-k8s.io/usage-cpu": "2", "kwok.x-k8s.io/usage-memory": "1Gi"}
	}))
	metrics := s.Dynamic.Resource(slov1alpha1.NodeMetrics())
	s.Eventually("muster fills a NodeMetric in", func() error {
		object, err := metrics.Get(s.Context(), "usage", metav1.GetOptions{})
		if err != nil {
			return err
		}
		metric, err := slov1alpha1.Decode(object)
		if err == nil && metric.Status.NodeMetric == nil {
			err = errors.New("it has no figures")
		}
		return err
	})
	_, err := s.Client.CoreV1().ConfigMaps(away).Create(s.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "slo-controller-config"},
		Data:       map[string]string{"colocation-config": `{"enable": true, "metricReportIntervalSeconds": 20}`},
	}, metav1.CreateOptions{})
	s.Must(err)
	s.Must(s.Client.CoreV1().Nodes().Delete(s.Context(), "short-lived", metav1.DeleteOptions{}))
	s.Eventually("the NodeMetric of a node that is gone is deleted", func() error {
		if _, err := metrics.Get(s.Context(), "short-lived", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is still there, error %w", err)
		}
		return nil
	})
}

// rescheduling: a pod is moved so that another one gets a place, a request is taken, and an old plan is forgotten.
func (s *smoke) rescheduling() {
	s.Helper()
	s.createNode("r1", "rescheduling", "4")
	set := map[string]string{"app": "small"}
	pod := newPod("", "rescheduling", "2")
	_, err := s.Client.AppsV1().ReplicaSets("default").Create(s.Context(), &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: "small"},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: new(int32(1)), Selector: &metav1.LabelSelector{MatchLabels: set},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: set}, Spec: pod.Spec},
		},
	}, metav1.CreateOptions{})
	s.Must(err)
	s.Eventually("the small pod runs", func() error {
		pods, err := s.Client.CoreV1().Pods("default").List(s.Context(), metav1.ListOptions{LabelSelector: "app=small"})
		if err == nil && (len(pods.Items) != 1 || pods.Items[0].Status.Phase != corev1.PodRunning) {
			err = errors.New("it does not")
		}
		return err
	})
	s.createNode("r2", "rescheduling", "2")
	s.Create(newPod("big", "rescheduling", "4"))
	s.awaitBound("big")

	s.Eventually("a request to separate a pod is written down", func() error {
		response, err := http.Post(s.separate, "application/json", strings.NewReader(`{"pod": "default/busy"}`))
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusAccepted {
			return errors.New(response.Status)
		}
		return nil
	})

	s.createCustomResources()
	plans := s.Dynamic.Resource(reschedulingv1alpha1.ReschedulingPlans())
	s.Eventually("the plan has ended long ago", func() error {
		old, err := plans.Get(s.Context(), "p", metav1.GetOptions{})
		if err != nil {
			return err
		}
		old.Object["status"] = map[string]any{"phase": "Succeeded", "finished": "2026-01-01T00:00:00Z"}
		_, err = plans.UpdateStatus(s.Context(), old, metav1.UpdateOptions{})
		return err
	})
	s.Eventually("a plan that ended long ago is deleted", func() error {
		if _, err := plans.Get(s.Context(), "p", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is still there, error %w", err)
		}
		return nil
	})
}

// questions asks as people do who cannot reach muster.
func (s *smoke) questions() {
	s.Helper()
	s.createQuestion()
	s.Eventually("a question is answered", func() error {
		object, err := s.Dynamic.Resource(explanationv1alpha1.Questions()).Namespace("default").Get(s.Context(), "why", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if question, err := explanationv1alpha1.Decode(object); err != nil || question.Status.Summary == "" {
			return fmt.Errorf("it is not, error %w", err)
		}
		return nil
	})
}
