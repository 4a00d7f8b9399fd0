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
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	reschedulingv1alpha1 "muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/api/scheduling/v1alpha1"
	slov1alpha1 "muster.dev/muster/api/slo/v1alpha1"
	"muster.dev/muster/e2e/controlplane"
)

// smoke tries each thing that muster can do, on nodes of its own, and waits until it has done it.
type smoke struct {
	*cluster
	url      string // of muster's verbs
	separate string // where the rescheduler is asked to separate pods
}

// lab is the label by which each trial keeps to its nodes.
const lab = "example.com/lab"

func (s *smoke) createNode(name, trial, cpu string) {
	s.Helper()
	_, err := s.client.CoreV1().Nodes().Create(s.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{lab: trial},
			Annotations: map[string]string{controlplane.KubeletMetricsAnnotation: controlplane.KubeletMetricsPath(name)},
		},
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
			"cpu": resource.MustParse(cpu), "memory": resource.MustParse("16Gi"), "pods": resource.MustParse("110"),
		}},
	}, metav1.CreateOptions{})
	s.must(err)
}

// newPod asks muster for a node of a trial.
func newPod(name, trial, cpu string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			SchedulerName: "muster", NodeSelector: map[string]string{lab: trial}, TerminationGracePeriodSeconds: new(int64(1)),
			Containers: []corev1.Container{{
				Name: "main", Image: "example.com/main",
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse(cpu)}},
			}},
		},
	}
}

func (s *smoke) create(pod *corev1.Pod) {
	s.Helper()
	_, err := s.client.CoreV1().Pods("default").Create(s.Context(), pod, metav1.CreateOptions{})
	s.must(err)
}

// awaitBound waits until pods have nodes.
func (s *smoke) awaitBound(names ...string) {
	s.Helper()
	for _, name := range names {
		s.eventually(name+" is bound", func() error {
			pod, err := s.client.CoreV1().Pods("default").Get(s.Context(), name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if pod.Spec.NodeName == "" {
				return fmt.Errorf("it is not: %v", pod.Status.Conditions)
			}
			return nil
		})
	}
}

// nominations are there before kube-scheduler is.
func (s *smoke) nominations() {
	s.Helper()
	s.createNode("pods", "pods", "8")
	for i := range 3 {
		s.create(newPod(fmt.Sprintf("pod-%d", i), "pods", "1"))
	}
	s.eventually("a pod is nominated", func() error {
		pod, err := s.client.CoreV1().Pods("default").Get(s.Context(), "pod-0", metav1.GetOptions{})
		if err == nil && pod.Status.NominatedNodeName == "" {
			err = errors.New("it is not")
		}
		return err
	})
}

// pods: one is bound, and a scheduler that has not heard of it asks again. A gate is lifted.
func (s *smoke) pods() {
	s.Helper()
	gated := newPod("gated", "pods", "1")
	gated.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: v1alpha1.SchedulingGate}}
	s.create(gated)
	s.awaitBound("pod-0", "pod-1", "pod-2", "gated")

	pod, err := s.client.CoreV1().Pods("default").Get(s.Context(), "pod-0", metav1.GetOptions{})
	s.must(err)
	body, err := json.Marshal(extenderv1.ExtenderBindingArgs{PodName: pod.Name, PodNamespace: pod.Namespace, PodUID: pod.UID, Node: "pods"})
	s.must(err)
	response, err := http.Post(s.url+"/bind", "application/json", strings.NewReader(string(body)))
	s.must(err)
	defer response.Body.Close()
	var answer extenderv1.ExtenderBindingResult
	s.must(json.NewDecoder(response.Body).Decode(&answer))
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
			s.create(member(newPod(fmt.Sprintf("%s-%d", name, i), "gangs", "1"), label, name))
		}
		s.awaitBound(name+"-0", name+"-1")
	}
	s.createPodGroup(v1alpha1.GroupX, "g-large", 2)
	for i := range 2 {
		s.create(member(newPod(fmt.Sprintf("g-large-%d", i), "gangs", "7"), v1alpha1.LabelX, "g-large"))
	}
}

func member(pod *corev1.Pod, label, group string) *corev1.Pod {
	pod.Labels = map[string]string{label: group}
	return pod
}

// preemption: pods of lower priority go for a gang.
func (s *smoke) preemption() {
	s.Helper()
	_, err := s.client.SchedulingV1().PriorityClasses().Create(s.Context(), &schedulingv1.PriorityClass{
		ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 1000,
	}, metav1.CreateOptions{})
	s.must(err)
	for i := range 2 {
		node := fmt.Sprintf("preemption-%d", i)
		s.createNode(node, "preemption", "4")
		low := newPod("low-"+node, "preemption", "3")
		low.Spec.NodeName = node
		s.create(low)
	}
	s.createPodGroup(v1alpha1.GroupX, "g-high", 2)
	for i := range 2 {
		pod := member(newPod(fmt.Sprintf("g-high-%d", i), "preemption", "3"), v1alpha1.LabelX, "g-high")
		pod.Spec.PriorityClassName = "high"
		s.eventually("a pod of the priority class is created", func() error {
			_, err := s.client.CoreV1().Pods("default").Create(s.Context(), pod, metav1.CreateOptions{})
			return err
		})
	}
	s.awaitBound("g-high-0", "g-high-1")
}

// usage: NodeMetrics are kept for nodes, as the ConfigMap says, and filled in with what metrics-server says.
func (s *smoke) usage() {
	s.Helper()
	const away = "koordinator-system"
	_, err := s.client.CoreV1().
		Namespaces().
		Create(s.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: away}}, metav1.CreateOptions{})
	s.must(err)
	s.createNode("usage", "usage", "4")
	s.createNode("short-lived", "usage", "4")
	busy := newPod("busy", "usage", "1")
	busy.Spec.NodeName = "usage"
	busy.Annotations = map[string]string{"kwok.x-k8s.io/usage-cpu": "2", "kwok.x-k8s.io/usage-memory": "1Gi"}
	s.create(busy)
	metrics := s.dynamic.Resource(slov1alpha1.NodeMetrics())
	s.eventually("muster fills a NodeMetric in", func() error {
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
	_, err = s.client.CoreV1().ConfigMaps(away).Create(s.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "slo-controller-config"},
		Data:       map[string]string{"colocation-config": `{"enable": true, "metricReportIntervalSeconds": 20}`},
	}, metav1.CreateOptions{})
	s.must(err)
	s.must(s.client.CoreV1().Nodes().Delete(s.Context(), "short-lived", metav1.DeleteOptions{}))
	s.eventually("the NodeMetric of a node that is gone is deleted", func() error {
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
	_, err := s.client.AppsV1().ReplicaSets("default").Create(s.Context(), &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: "small"},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: new(int32(1)), Selector: &metav1.LabelSelector{MatchLabels: set},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: set}, Spec: pod.Spec},
		},
	}, metav1.CreateOptions{})
	s.must(err)
	s.eventually("the small pod runs", func() error {
		pods, err := s.client.CoreV1().Pods("default").List(s.Context(), metav1.ListOptions{LabelSelector: "app=small"})
		if err == nil && (len(pods.Items) != 1 || pods.Items[0].Status.Phase != corev1.PodRunning) {
			err = errors.New("it does not")
		}
		return err
	})
	s.createNode("r2", "rescheduling", "2")
	s.create(newPod("big", "rescheduling", "4"))
	s.awaitBound("big")

	s.eventually("a request to separate a pod is written down", func() error {
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
	plans := s.dynamic.Resource(reschedulingv1alpha1.ReschedulingPlans())
	s.eventually("the plan has ended long ago", func() error {
		old, err := plans.Get(s.Context(), "p", metav1.GetOptions{})
		if err != nil {
			return err
		}
		old.Object["status"] = map[string]any{"phase": "Succeeded", "finished": "2026-01-01T00:00:00Z"}
		_, err = plans.UpdateStatus(s.Context(), old, metav1.UpdateOptions{})
		return err
	})
	s.eventually("a plan that ended long ago is deleted", func() error {
		if _, err := plans.Get(s.Context(), "p", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is still there, error %w", err)
		}
		return nil
	})
}
