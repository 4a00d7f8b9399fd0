package preflight

import (
	"fmt"
	"slices"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/config"
)

// mostGroups is how many PodGroups are looked at.
const mostGroups = 500

// servesNativeGroups reports whether muster is configured to plan Kubernetes' own PodGroups.
func (l *look) servesNativeGroups() bool {
	return slices.Contains(l.Config.Gangs.Kinds, config.GangKindKubernetesPodGroup)
}

// nativeGroups tells who starts Kubernetes' own PodGroups, where the cluster has any. The gates of kube-scheduler do not show;
// but where they are on, it writes a condition on each group that it has tried.
func (l *look) nativeGroups() {
	c := Check{Check: "PodGroups of " + schedulingv1beta1.GroupName}
	if c.State, c.Found = l.serves(schedulingv1beta1.SchemeGroupVersion.String(), "podgroups"); c.State != OK {
		return
	}
	groups, err := l.Client.SchedulingV1beta1().PodGroups(metav1.NamespaceAll).List(l.ctx, metav1.ListOptions{Limit: mostGroups})
	if err != nil {
		c.State, c.Found, c.Follows = Unknown, "could not be read: "+err.Error(), "who starts them is not known"
		l.add(c)
		return
	}
	tried := 0
	for i := range groups.Items {
		if meta.FindStatusCondition(groups.Items[i].Status.Conditions, schedulingv1beta1.PodGroupInitiallyScheduled) != nil {
			tried++
		}
	}
	c.Found = fmt.Sprintf("kube-scheduler says of %d of %d that it has tried them as groups", tried, len(groups.Items))
	switch serves := l.servesNativeGroups(); {
	case serves && tried > 0:
		c.Follows = "kube-scheduler starts them whole, at the places that muster shows it"
	case serves:
		c.Follows = "muster starts them whole"
	case tried > 0:
		c.Follows = "kube-scheduler starts them whole by itself: with KubernetesPodGroup in gangs.kinds it would find room for more of them"
	case len(groups.Items) > 0:
		c.State = Unknown
		c.Follows = "where the gate GenericWorkload of kube-scheduler is off, their pods start one by one: add KubernetesPodGroup to gangs.kinds"
	}
	l.add(c)
}
