package simulation

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/scheduling/v1alpha1"
)

// skew is by how much the clock of the API server is ahead of this process.
const skew = time.Hour

// Pod is one of a CPU that says how long it runs, unless that is 0.
func Pod(name string, says time.Duration, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: metav1.NamespaceDefault, UID: types.UID("uid-" + name), CreationTimestamp: metav1.NewTime(time.Now().Add(skew)),
		},
		Spec: corev1.PodSpec{
			SchedulerName: corev1.DefaultSchedulerName, Priority: new(int32),
			Containers: []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
			}}},
		},
	}
	if says > 0 {
		metav1.SetMetaDataAnnotation(&p.ObjectMeta, v1alpha1.AnnotationExpectedRuntime, says.String())
	}
	for _, f := range change {
		f(p)
	}
	return p
}

// InGang makes a pod a member of a gang of a size.
func InGang(name string, size int) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		metav1.SetMetaDataLabel(&p.ObjectMeta, v1alpha1.LabelMuster, name)
		metav1.SetMetaDataAnnotation(&p.ObjectMeta, v1alpha1.AnnotationMinMember, fmt.Sprint(size))
	}
}

// Succeeded returns a pod as it is once it has succeeded after a time.
func Succeeded(p *corev1.Pod, ran time.Duration) *corev1.Pod {
	done, start := p.DeepCopy(), metav1.NewTime(time.Now().Add(skew-ran))
	done.Status = corev1.PodStatus{
		Phase: corev1.PodSucceeded, StartTime: &start, ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(start.Add(ran))},
		}}},
	}
	return done
}
