package trial

import (
	"context"
	"fmt"
	"log/slog"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/operators"
)

// priorities are the priority classes of a cluster. The API server gives pods their priority by these when they are created (the admission
// plugin Priority).
type priorities struct {
	classes map[string]*schedulingv1.PriorityClass
	// known says that these are all: a pod of another one would be refused.
	known bool
}

func newPriorities() *priorities {
	p := &priorities{classes: map[string]*schedulingv1.PriorityClass{}}
	p.classes["system-cluster-critical"] = &schedulingv1.PriorityClass{Value: 2_000_000_000}
	p.classes["system-node-critical"] = &schedulingv1.PriorityClass{Value: 2_000_001_000}
	return p
}

// learn learns what the API server has. An account that may not list them goes on without.
func (p *priorities) learn(ctx context.Context, client kubernetes.Interface, log *slog.Logger) error {
	list, err := client.SchedulingV1().PriorityClasses().List(ctx, metav1.ListOptions{})
	switch {
	case apierrors.IsForbidden(err):
		log.Warn("priority classes cannot be listed, so that pods which name one count with priority 0", slog.Any("err", err))
		return nil
	case err != nil:
		return fmt.Errorf("list priority classes: %w", err)
	}
	for i := range list.Items {
		p.classes[list.Items[i].Name] = &list.Items[i]
	}
	p.known = true
	return nil
}

func isPriorityClass(object operators.Object) bool { return object.Text("kind") == "PriorityClass" }

// classesFirst orders priority classes before the pods that name them.
func classesFirst(a, b operators.Object) int {
	switch is := isPriorityClass(a); {
	case is == isPriorityClass(b):
		return 0
	case is:
		return -1
	}
	return 1
}

// add adds a class that comes with the pods.
func (p *priorities) add(object operators.Object) error {
	class := &schedulingv1.PriorityClass{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, class); err != nil {
		return err
	}
	p.classes[class.Name] = class
	return nil
}

// dumped returns how priority classes stand in dumps, which are known once there is one.
func (p *priorities) dumped() cluster.CustomKind {
	return cluster.CustomKind{
		Kind:     schedulingv1.SchemeGroupVersion.WithKind("PriorityClass"),
		Resource: schedulingv1.SchemeGroupVersion.WithResource("priorityclasses"),
		Handler: cluster.CustomHandler{
			Trim: func(object any) (any, error) {
				whole, is := object.(*unstructured.Unstructured)
				if !is {
					return object, nil
				}
				class := &schedulingv1.PriorityClass{}
				return class, runtime.DefaultUnstructuredConverter.FromUnstructured(whole.Object, class)
			},
			Set: func(object metav1.Object) {
				if class, is := object.(*schedulingv1.PriorityClass); is {
					p.classes[class.Name], p.known = class, true
				}
			},
		},
	}
}

// give gives a pod without a priority that of its class. The error says that the API server would refuse the pod.
func (p *priorities) give(pod *corev1.Pod) error {
	if pod.Spec.Priority != nil {
		return nil
	}
	class := p.classes[pod.Spec.PriorityClassName]
	if pod.Spec.PriorityClassName == "" {
		class = p.byDefault()
	}
	switch {
	case class != nil:
		pod.Spec.Priority = &class.Value
		if pod.Spec.PreemptionPolicy == nil {
			pod.Spec.PreemptionPolicy = class.PreemptionPolicy
		}
	case pod.Spec.PriorityClassName != "" && p.known:
		return fmt.Errorf("spec.priorityClassName: there is no PriorityClass %s", pod.Spec.PriorityClassName)
	}
	return nil
}

// byDefault returns the class of pods that name none, nil for priority 0: of several the lowest one.
func (p *priorities) byDefault() (class *schedulingv1.PriorityClass) {
	for _, one := range p.classes {
		if one.GlobalDefault && (class == nil || one.Value < class.Value) {
			class = one
		}
	}
	return class
}
