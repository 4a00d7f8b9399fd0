package preflight

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/server/admission"
)

// schedulers tells whether anybody sets the schedulerName of pods where a profile or a namespace asks for it.
func (l *look) schedulers() error {
	names, byKind := admission.Assignable(l.Config), admission.SetsByKind(l.Config)
	labelled := 0
	if len(names) > 0 {
		if list, err := l.Client.CoreV1().Namespaces().List(l.ctx, metav1.ListOptions{
			LabelSelector: v1alpha1.LabelScheduler + " in (" + strings.Join(names, ",") + ")",
		}); err == nil { // who may not read them is told of kinds alone
			labelled = len(list.Items)
		}
	}
	if len(byKind) == 0 && labelled == 0 {
		return nil
	}
	if served, _ := l.serves("admissionregistration.k8s.io/v1", "mutatingadmissionpolicies"); served == Missing && l.byWebhook {
		var paths []string
		for _, name := range byKind {
			paths = append(paths, "/webhook/scheduler/"+name)
		}
		l.webhook(Check{Check: "webhook that sets schedulers", Follows: "pods that name no scheduler get one when they are created"},
			"they are default-scheduler's", paths...)
		return nil
	}
	plain, err := policies(admission.SchedulerPolicy(l.Config, false))
	if err != nil {
		return err
	}
	managed, err := policies(admission.SchedulerPolicy(l.Config, true))
	if err != nil {
		return err
	}
	for i := range plain {
		l.policy(Check{
			Check:   []string{"policy that sets schedulers by namespace", "policy that sets schedulers by kind"}[i],
			Follows: "pods that name no scheduler get one when they are created",
		}, "they are default-scheduler's", "muster scheduler-policy", plain[i], managed[i])
	}
	return nil
}
