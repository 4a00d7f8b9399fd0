package forward

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// usualNamespace is where muster is looked for by who may not look everywhere.
const usualNamespace = metav1.NamespaceSystem

// instanceLabel tells installations apart.
const instanceLabel = "app.kubernetes.io/instance"

// candidate is a pod to ask.
type candidate struct {
	namespace, name string
	port            int32
	ready           bool
}

func (c candidate) String() string {
	return fmt.Sprintf("pod %s/%s, port %d", c.namespace, c.name, c.port)
}

// AbsenceError says that no pod of a process runs.
type AbsenceError struct{ message string }

func (e *AbsenceError) Error() string { return e.message }

// DeniedError says that who asks may not look for the pods of a process, or not forward their ports.
type DeniedError struct{ err error }

func (e *DeniedError) Error() string { return e.err.Error() }

// Unwrap is for [errors.Is].
func (e *DeniedError) Unwrap() error { return e.err }

// find returns the running pods of a process, the ready ones first. There is at least one.
func find(ctx context.Context, client kubernetes.Interface, p Process, namespace string) ([]candidate, error) {
	pods, where, err := list(ctx, client, p, namespace)
	if err != nil {
		return nil, err
	}
	pods = slices.DeleteFunc(pods, func(pod corev1.Pod) bool { return p.portIn(&pod) == 0 })
	if len(pods) == 0 {
		return nil, &AbsenceError{fmt.Sprintf(
			"no pod in %s has the labels %s and a container %s: is it installed there? --muster-namespace says where to look; "+
				"one that is no pod, as on k3s, is asked on its machine with --server", where, p.selectors[0], p.container,
		)}
	}
	if err := oneInstallation(pods, p); err != nil {
		return nil, err
	}
	var running []candidate
	var others []string
	for i := range pods {
		pod := &pods[i]
		switch {
		case pod.DeletionTimestamp != nil:
			others = append(others, pod.Namespace+"/"+pod.Name+" is being deleted")
		case pod.Status.Phase != corev1.PodRunning:
			others = append(others, pod.Namespace+"/"+pod.Name+" is "+string(pod.Status.Phase))
		default:
			running = append(running, candidate{pod.Namespace, pod.Name, p.portIn(pod), isReady(pod)})
		}
	}
	if len(running) == 0 {
		return nil, &AbsenceError{fmt.Sprintf("no pod of the %s runs: %s", p.name, strings.Join(others, ", "))}
	}
	slices.SortStableFunc(running, func(a, b candidate) int {
		if a.ready != b.ready {
			if a.ready {
				return -1
			}
			return 1
		}
		return strings.Compare(a.name, b.name)
	})
	return running, nil
}

// list returns the pods with the labels of a process, and in words where it has looked for them.
func list(ctx context.Context, client kubernetes.Interface, p Process, namespace string) (pods []corev1.Pod, where string, err error) {
	everywhere := namespace == metav1.NamespaceAll
	pods, err = chosen(ctx, client, p, namespace)
	if everywhere && apierrors.IsForbidden(err) {
		namespace = usualNamespace
		pods, err = chosen(ctx, client, p, namespace)
	}
	switch {
	case apierrors.IsForbidden(err) && everywhere:
		return nil, "", &DeniedError{fmt.Errorf(
			"find the %s: you may list pods neither in all namespaces nor in %s: %w; name another with --muster-namespace, or ask for the "+
				"verb list on pods", p.name, namespace, err,
		)}
	case apierrors.IsForbidden(err):
		return nil, "", &DeniedError{fmt.Errorf("find the %s: you may not list pods in namespace %s: %w", p.name, namespace, err)}
	case err != nil:
		return nil, "", fmt.Errorf("find the %s: %w", p.name, err)
	case namespace != metav1.NamespaceAll:
		where = "namespace " + namespace
		if everywhere {
			where += " (you may not list pods in all namespaces)"
		}
	default:
		where = "any namespace"
	}
	return pods, where, nil
}

// chosen returns the pods that one of the selectors of a process chooses. None is chosen by two.
func chosen(ctx context.Context, client kubernetes.Interface, p Process, namespace string) (pods []corev1.Pod, err error) {
	for _, selector := range p.selectors {
		some, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			return nil, err
		}
		pods = append(pods, some.Items...)
	}
	return pods, nil
}

// oneInstallation fails if the pods are of several.
func oneInstallation(pods []corev1.Pod, p Process) error {
	namespaces := map[string][]string{}
	for i := range pods {
		of := pods[i].Labels[instanceLabel]
		if known := namespaces[pods[i].Namespace]; !slices.Contains(known, of) {
			namespaces[pods[i].Namespace] = append(known, of)
		}
	}
	for namespace, instances := range namespaces {
		if len(namespaces) == 1 && len(instances) > 1 {
			slices.Sort(instances)
			return fmt.Errorf(
				"namespace %s has several installations of muster, with the labels %s=%s: forward a port to a pod of one with 'kubectl "+
					"port-forward', and name it with --server", namespace, instanceLabel, strings.Join(instances, " and "),
			)
		}
	}
	if len(namespaces) > 1 {
		return fmt.Errorf(
			"the %s runs in several namespaces: choose one with --muster-namespace: %s", p.name,
			strings.Join(slices.Sorted(maps.Keys(namespaces)), ", "),
		)
	}
	return nil
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
