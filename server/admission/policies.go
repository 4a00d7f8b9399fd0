package admission

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/config"
	"muster.dev/muster/charts/helm"
)

// PolicyName is the name of the policy that gates members, and of its binding; the names of the other policies begin
// with it.
const PolicyName = "muster"

// HostPolicyName is PolicyName where muster runs on the nodes of a control plane: the chart can be installed beside that.
const HostPolicyName = "muster-host"

// Gated lists the schedulers whose pods are gated when they are created: members of gangs, and pods of no group
// that are opted in.
func Gated(cfg *config.Configuration) (ofMembers, ofPods []string) {
	for i := range cfg.Profiles {
		switch p := &cfg.Profiles[i]; p.Gates {
		case config.GatesUntilPlace:
			ofPods = append(ofPods, p.SchedulerName)
			ofMembers = append(ofMembers, p.SchedulerName)
		case config.GatesUntilMembers:
			ofMembers = append(ofMembers, p.SchedulerName)
		case config.GatesNever:
		}
	}
	return ofMembers, ofPods
}

// Assignable lists the schedulers that pods can be given to, of all profiles. default-scheduler is none: it has the
// pods already that name no scheduler.
func Assignable(cfg *config.Configuration) (schedulers []string) {
	for i := range cfg.Profiles {
		if name := cfg.Profiles[i].SchedulerName; name != corev1.DefaultSchedulerName {
			schedulers = append(schedulers, name)
		}
	}
	return schedulers
}

// SetsByKind lists the schedulers of profiles that are the default for kinds.
func SetsByKind(cfg *config.Configuration) (schedulers []string) {
	for i := range cfg.Profiles {
		if len(cfg.Profiles[i].DefaultFor) > 0 {
			schedulers = append(schedulers, cfg.Profiles[i].SchedulerName)
		}
	}
	return schedulers
}

// GatePolicies returns by what the API server itself does as the webhook does: it gates the members of gangs of some
// schedulers when they are created, and of some the pods of no group that are opted in. Policies are YAML documents, each
// followed by its bindings, and are in force by these. Pods of the kinds of controllers count as members by what they show.
func GatePolicies(ofMembers, ofPods []string, kinds []config.GangKind) string {
	return policy("gates", map[string]any{"name": PolicyName, "schedulers": ofMembers, "ahead": ofPods, "kinds": kinds})
}

// ManagedPolicy has the API server make pods of these schedulers managed when they are created.
func ManagedPolicy(schedulers []string) string {
	return policy("managed", map[string]any{"name": PolicyName + "-managed", "schedulers": schedulers})
}

// SchedulerPolicy has the API server give pods that name no scheduler to the one of a profile when they are created: by the label
// of their namespace, and by their kind. It gates them where no webhook does.
func SchedulerPolicy(cfg *config.Configuration, managed bool) string {
	schedulers, claims := Assignable(cfg), []map[string]any(nil)
	for i := range cfg.Profiles {
		if p := &cfg.Profiles[i]; len(p.DefaultFor) > 0 {
			claims = append(claims, map[string]any{"scheduler": p.SchedulerName, "kinds": p.DefaultFor})
		}
	}
	var gated, ahead []string
	if cfg.Serving.WebhookListen == "" {
		gated, ahead = Gated(cfg)
		other := func(name string) bool { return !slices.Contains(schedulers, name) }
		gated, ahead = slices.DeleteFunc(gated, other), slices.DeleteFunc(ahead, other)
	}
	spared := []string{metav1.NamespaceSystem, cfg.LeaderElection.ResourceNamespace}
	return policy("scheduler", map[string]any{
		"name": PolicyName + "-scheduler", "schedulers": schedulers, "claims": claims, "spared": slices.Compact(spared),
		"gated": gated, "ahead": ahead, "kinds": cfg.Gangs.Kinds, "managed": managed,
	})
}

// RecordPolicy has the API server keep the record of a start on PodGroups muster's own.
func RecordPolicy(name string) string {
	return policy("records", map[string]any{"name": name, "actions": deny()})
}

// Account is an identity that programs write to the API server with, and which of them do.
type Account struct {
	// Name names the policy and its binding.
	Name string
	// User is the API server's name for the account, as in system:serviceaccount:kube-system:muster.
	User string
	// Who writes with it.
	Muster, Rescheduler, Scheduler bool
}

// Policy has the API server refuse the account what its programs never do, though their role lets them.
func (a Account) Policy() string {
	return policy("account", map[string]any{
		"name": a.Name, "user": a.User, "muster": a.Muster, "rescheduler": a.Rescheduler, "scheduler": a.Scheduler, "actions": deny(),
	})
}

func deny() []string { return []string{"Deny"} }

// policy fills in a template of the chart. They are compiled in, so that an error is a fault of theirs.
func policy(name string, values map[string]any) string {
	templates, err := helm.Policies()
	if err != nil {
		panic(err)
	}
	text, err := templates.Fill("muster.policy."+name, values)
	if err != nil {
		panic(err)
	}
	return text + "\n"
}
