package preflight

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/kubernetes"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/server/admission"
)

// Options say for whom to look.
type Options struct {
	Client kubernetes.Interface
	Config *config.Configuration
	// Metrics reads the API server's metrics; see [MetricsOf].
	Metrics func(context.Context) (io.ReadCloser, error)
	// Name names the admission policies, or the webhook configuration. Where it is empty, they have the name that the chart gives them, or
	// the one of 'muster install' on the nodes of a control plane.
	Name string
	// Scheduler is the configuration of kube-scheduler's, in YAML or JSON; empty when nobody gave it.
	Scheduler []byte
}

// Run looks at a cluster. It fails if the cluster cannot be reached.
func Run(ctx context.Context, o Options) (*Report, error) {
	l := &look{Options: o, ctx: ctx, report: &Report{}}
	if l.Name == "" {
		l.Name = l.usualName()
	}
	l.members, l.pods = admission.Gated(o.Config)
	l.gated = len(l.members) > 0
	l.byWebhook = o.Config.Serving.WebhookListen != ""
	served, err := o.Client.Discovery().ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("ask the API server for its version: %w", err)
	}
	l.report.Plan = l.plan()
	if who, err := o.Client.AuthenticationV1().SelfSubjectReviews().
		Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{}); err == nil {
		l.report.User = who.Status.UserInfo.Username
	}
	l.version(served.GitVersion)
	l.apis()
	l.features()
	l.nativeGroups()
	if l.gated && l.byWebhook {
		l.gatesByWebhook()
	} else if l.gated {
		if err := l.policies(); err != nil {
			return nil, err
		}
	}
	if err := l.schedulers(); err != nil {
		return nil, err
	}
	l.rights()
	l.scheduler()
	l.namespaces()
	return l.report, nil
}

// look is one look at a cluster.
type look struct {
	Options
	ctx    context.Context //nolint:containedctx // it lives for one call
	report *Report

	members, pods    []string // the schedulers whose members of gangs, and pods of no group, are gated
	gated, byWebhook bool
}

func (l *look) add(c Check) { l.report.Checks = append(l.report.Checks, c) }

// plan says in a line what muster is configured to do.
func (l *look) plan() string {
	if len(l.pods) == 0 {
		return "is asked by kube-scheduler: no profile has gates: UntilPlace"
	}
	gates := "the API server's own policy"
	if l.byWebhook {
		gates = "webhook"
	}
	return fmt.Sprintf("places pods of %s while they are gated by %s: it nominates nodes and lifts the gates",
		strings.Join(l.pods, ", "), gates)
}

// since is the first Kubernetes that the chart takes: scheduling gates and policies of validation are stable in it.
const since = "1.30.0"

func (l *look) version(served string) {
	c := Check{Check: "Kubernetes " + since, State: OK, Required: true, Found: served}
	switch v, err := version.ParseGeneric(served); {
	case err != nil:
		c.State = Unknown
	case v.LessThan(version.MustParseGeneric(since)):
		c.State, c.Follows = Missing, "upgrade: scheduling gates are not stable there"
	}
	l.add(c)
}

// apis tells which kinds of objects are served.
func (l *look) apis() {
	policies := Check{Check: "MutatingAdmissionPolicy", Follows: "the API server gates pods by itself"}
	policies.State, policies.Found = l.serves("admissionregistration.k8s.io/v1", "mutatingadmissionpolicies")
	policies.Required = l.gated && !l.byWebhook
	switch {
	case !l.gated:
		policies.Follows = "nobody is gated, as the configuration has it"
	case l.byWebhook:
		policies.Follows = "not used: serving.webhookListen is set"
	case policies.State == Missing:
		policies.Follows = "it is there since 1.36: set serving.webhookListen, with a certificate"
	}
	l.add(policies)

	account := Check{
		Check: "ValidatingAdmissionPolicy", Follows: "muster's account can be held to what it writes: see 'muster account-policy'",
	}
	if account.State, account.Found = l.serves("admissionregistration.k8s.io/v1", "validatingadmissionpolicies"); account.State == Missing {
		account.Follows = "muster's account is held to its role alone"
	}
	l.add(account)

	for _, group := range []string{v1alpha1.GroupX, v1alpha1.GroupSigs} {
		c := Check{Check: "PodGroups of " + group, Follows: "gangs are made by such objects"}
		if c.State, c.Found = l.serves(group+"/"+v1alpha1.Version, "podgroups"); c.State == Missing {
			c.Follows = "gangs are made by labels, or install the CRDs of the chart"
		}
		l.add(c)
	}
}

// serves reports whether the API server has a resource.
func (l *look) serves(groupVersion, resource string) (State, string) {
	list, err := l.Client.Discovery().ServerResourcesForGroupVersion(groupVersion)
	switch {
	case apierrors.IsNotFound(err):
		return Missing, groupVersion + " is not served"
	case err != nil:
		return Unknown, err.Error()
	case !slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == resource }):
		return Missing, groupVersion + " is served without it"
	}
	return OK, groupVersion
}

// scheduler tells what the API knows of the kube-scheduler.
func (l *look) scheduler() {
	if namespace, name, is := l.schedulerLease(); is {
		c := Check{Check: "lease of kube-scheduler", State: OK, Follows: "a restarted kube-scheduler is told of all reservations"}
		// As muster reads it, which has no right to others.
		leases, err := l.Client.CoordinationV1().Leases(namespace).List(l.ctx, metav1.ListOptions{
			FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, name).String(),
		})
		switch {
		case apierrors.IsForbidden(err):
			c.State, c.Found = Missing, "must not be read: "+err.Error()
		case err != nil: // who cannot reach it does not know
			c.State, c.Found = Unknown, "could not be read: "+err.Error()
		case len(leases.Items) == 0:
			c.State, c.Found = Unknown, "there is none: "+l.Config.LeaderElection.Scheduler()
		default:
			c.Found = "held by " + holder(&leases.Items[0])
		}
		if c.State != OK {
			c.Follows = "a restarted kube-scheduler is told of reservations after a minute"
		}
		l.add(c)
	}
	l.extender()
}

// extender tells whether kube-scheduler's configuration is as muster's asks.
func (l *look) extender() {
	c := Check{
		Check: "extender",
		State: Unknown,
		Found: "the API does not tell how kube-scheduler is configured: give --scheduler-config FILE",
	}
	if c.Follows = "gates: UntilPlace needs none, and none hurts"; len(l.pods) < len(l.Config.Profiles) {
		c.Follows = "profiles without gates: UntilPlace need it: see 'muster scheduler-config'"
	}
	if len(l.Scheduler) == 0 {
		l.add(c)
		return
	}
	c.Required = true
	differences, err := admission.Contradictions(l.Config, l.Scheduler)
	switch {
	case err != nil:
		c.State, c.Found, c.Follows = Missing, err.Error(), "mend the file: kube-scheduler refuses it, too"
	case len(differences) > 0:
		for _, difference := range differences {
			c.State, c.Found = Missing, difference
			c.Follows = "kube-scheduler and muster rate nodes differently: change this line, or print the file again"
			l.add(c)
		}
		return
	default:
		c.State, c.Found, c.Follows = OK, "the file says what muster's configuration asks", "a profile means the same on both sides"
	}
	l.add(c)
}

// schedulerLease returns where the Lease of kube-scheduler is, if muster follows it.
func (l *look) schedulerLease() (namespace, name string, is bool) {
	namespace, name, is = strings.Cut(l.Config.LeaderElection.Scheduler(), "/")
	return namespace, name, is && len(l.pods) > 0
}

func holder(lease *coordinationv1.Lease) string {
	if id := lease.Spec.HolderIdentity; id != nil && *id != "" {
		return *id
	}
	return "nobody"
}

// namespaces names the namespaces that are opted in.
func (l *look) namespaces() {
	if len(l.pods) == 0 {
		return
	}
	c := Check{Check: "namespaces that are opted in", State: OK, Follows: "their pods of no group are placed ahead"}
	list, err := l.Client.CoreV1().Namespaces().List(l.ctx, metav1.ListOptions{LabelSelector: v1alpha1.LabelAhead + "=true"})
	switch {
	case err != nil:
		c.State, c.Found = Unknown, err.Error()
	case len(list.Items) == 0:
		c.Found, c.Follows = "none", "kubectl label namespace <namespace> "+v1alpha1.LabelAhead+"=true; members of gangs need no label"
	default:
		var names []string
		for i := range list.Items {
			names = append(names, list.Items[i].Name)
		}
		c.Found = strings.Join(names, ", ")
	}
	l.add(c)
}
