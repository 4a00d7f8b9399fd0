package attack

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/scheduling/v1alpha1"
)

// jobSets are owners that make gangs. Their controller does not run.
var jobSets = schema.GroupVersionResource{Group: "jobset.x-k8s.io", Version: "v1alpha2", Resource: "jobsets"}

// defineOwners has the API server know JobSets. Nothing of them is checked.
func (g *ground) defineOwners(ctx context.Context) error {
	definition := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": jobSets.GroupResource().String()},
		"spec": map[string]any{
			"group": jobSets.Group, "scope": "Namespaced", "names": map[string]any{"kind": "JobSet", "plural": jobSets.Resource},
			"versions": []any{map[string]any{"name": jobSets.Version, "served": true, "storage": true, "schema": map[string]any{
				"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
			}}},
		},
	}}
	definitions := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	if _, err := g.dynamic.Resource(definitions).Create(ctx, definition, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("define JobSets: %w", err)
	}
	return eventually(ctx, "the API server serves JobSets", func() error {
		_, err := g.dynamic.Resource(jobSets).Namespace(othersNamespace).List(ctx, metav1.ListOptions{})
		return err
	})
}

// role is a replicated job of a JobSet.
func role(name string, replicas, parallelism any) map[string]any {
	return map[string]any{
		"name": name, "replicas": replicas,
		"template": map[string]any{"spec": map[string]any{"parallelism": parallelism, "completions": parallelism}},
	}
}

// createJobSet creates one as somebody, and returns who owns its pods.
func (u *user) createJobSet(ctx context.Context, namespace, name string, roles ...any) (owner metav1.OwnerReference, err error) {
	set := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": jobSets.GroupVersion().String(), "kind": "JobSet",
		"metadata": map[string]any{"name": name, "namespace": namespace}, "spec": map[string]any{"replicatedJobs": roles},
	}}
	made, err := u.dynamic.Resource(jobSets).Namespace(namespace).Create(ctx, set, metav1.CreateOptions{})
	if err != nil {
		return owner, fmt.Errorf("create JobSet %s: %w", name, err)
	}
	return jobSetNamed(name, made.GetUID()), nil
}

// jobSetNamed refers to a JobSet, which there need not be.
func jobSetNamed(name string, uid types.UID) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: jobSets.GroupVersion().String(), Kind: "JobSet", Name: name, UID: uid, Controller: new(true)}
}

// ownedBy makes a pod one of the role "workers" of a JobSet.
func ownedBy(owner metav1.OwnerReference) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.OwnerReferences = []metav1.OwnerReference{owner}
		pod.Labels["jobset.sigs.k8s.io/jobset-name"], pod.Labels["jobset.sigs.k8s.io/replicatedjob-name"] = owner.Name, "workers"
	}
}

// forgery is the outcome of owners and marks that are not what they seem.
type forgery struct {
	delay
	unclear []string // of whom muster does not say what it takes them for, and why
}

func (f forgery) judge() verdict {
	if v := f.delay.judge(); v.succeeded || len(f.unclear) == 0 {
		return v
	}
	return succeeded("muster does not say enough of %v", f.unclear)
}

func forgeries() []forgery {
	all := []forgery{{delay: delay{bound: true}, unclear: []string{"a pod"}}}
	for _, d := range delays() {
		all = append(all, forgery{delay: d})
	}
	return all
}

func forgeryAttack(name, tries string, do func(context.Context, *ground) (forgery, error)) Attack {
	return plan[forgery]{name: name, by: Tenant, tries: tries, do: do, check: forgery.judge, successes: forgeries()}.attack()
}

// explains notes of a pod that muster does not say some words about whom it belongs to.
func (f *forgery) explains(ctx context.Context, g *ground, pod *corev1.Pod, words string) error {
	err := eventually(ctx, "muster explains "+pod.Name, func() error {
		at := g.muster.DebugURL() + "/debug/explain?format=json&pod=" + url.QueryEscape(pod.Namespace+"/"+pod.Name)
		got := g.call(ctx, http.MethodGet, at, nil)
		var told struct {
			Member  string
			Ignored []string
		}
		if err := json.Unmarshal([]byte(got.text), &told); err != nil {
			return fmt.Errorf("it answers %s: %w", got, err)
		}
		if said := told.Member + "; " + strings.Join(told.Ignored, "; "); !strings.Contains(said, words) {
			return fmt.Errorf("it says %q, want %q", said, words)
		}
		return nil
	})
	if err != nil {
		f.unclear = append(f.unclear, err.Error())
	}
	return ctx.Err()
}

// startsOwned notes how long a JobSet of others takes to start.
func (g *ground) startsOwned(ctx context.Context, f *forgery) error {
	f.about = "a JobSet of others"
	owner, err := g.admin().createJobSet(ctx, othersNamespace, "honest", role("workers", int64(1), int64(2)))
	if err != nil {
		return err
	}
	pods, err := g.create(ctx,
		newPod(othersNamespace, "honest-0", "1", ownedBy(owner)), newPod(othersNamespace, "honest-1", "1", ownedBy(owner)))
	if err == nil {
		f.waited, f.bound = g.awaitBound(ctx, pods["honest-0"], pods["honest-1"])
	}
	return err
}

func (g *ground) admin() *user { return &user{client: g.client, dynamic: g.dynamic} }

func ownerAttacks() []Attack {
	return []Attack{
		forgeryAttack("owners-that-do-not-exist", "to delay others by a thousand pods whose owners there never were", madeUpOwners),
		forgeryAttack("owner-of-another-namespace", "to have a JobSet of others start too early, by pods that name it", ownerElsewhere),
		forgeryAttack("jobset-of-somebody-else", "to keep a JobSet from starting whole, by pods that claim to be its own", ownerStolen),
		forgeryAttack("contradictory-marks", "to have a part of a gang start by pods that belong to two", contradictions),
		forgeryAttack("owners-with-absurd-numbers", "to stop others, or to start a part of a gang, by owners of any size", absurdOwners),
		memoryAttack(Tenant, "roles-by-the-thousand", "to fill muster's memory with owners of ten thousand roles", manyRoles),
	}
}

func madeUpOwners(ctx context.Context, g *ground) (f forgery, err error) {
	if _, err := g.stage(ctx, newNodes("hall", 1, "8")); err != nil {
		return f, err
	}
	var pods []*corev1.Pod
	for i := range 1000 { // a name of its own each, which muster has to ask for; nobody schedules them
		name := fmt.Sprintf("made-up-%d", i)
		pods = append(pods, newPod(tenantNamespace, name, "1", scheduledBy(byHand), ownedBy(jobSetNamed(name, types.UID(name)))))
	}
	for _, pod := range pods {
		if _, err := g.tenant.client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
			return f, err
		}
	}
	if err := g.startsOwned(ctx, &f); err != nil {
		return f, err
	}
	for _, pod := range []*corev1.Pod{pods[0], pods[len(pods)-1]} {
		if err := f.explains(ctx, g, pod, "JobSet "+pod.Name); err != nil {
			return f, err
		}
	}
	return f, nil
}

// ownerElsewhere names a JobSet of others, and a group of theirs, from another namespace.
func ownerElsewhere(ctx context.Context, g *ground) (f forgery, err error) {
	if _, err := g.stage(ctx, newNodes("hall", 1, "8")); err != nil {
		return f, err
	}
	owner, err := g.admin().createJobSet(ctx, othersNamespace, "crew", role("workers", int64(1), int64(2)))
	if err != nil {
		return f, err
	}
	waiting, err := g.create(ctx,
		newPod(othersNamespace, "crew-0", "1", ownedBy(owner)), newPod(othersNamespace, "band-0", "1", memberOf("band", 2)))
	if err != nil {
		return f, err
	}
	forged, err := g.createAs(ctx, g.tenant,
		newPod(tenantNamespace, "crew-1", "1", ownedBy(owner)), newPod(tenantNamespace, "band-1", "1", memberOf("band", 2)))
	if err != nil {
		return f, err
	}
	if err := f.explains(ctx, g, forged[0], "JobSet crew"); err != nil {
		return f, err
	}
	if err := settle(ctx); err != nil {
		return f, err
	}
	if f.early, err = g.bound(ctx, waiting["crew-0"], waiting["band-0"]); err != nil {
		return f, err
	}
	last, err := g.create(ctx,
		newPod(othersNamespace, "crew-1", "1", ownedBy(owner)), newPod(othersNamespace, "band-1", "1", memberOf("band", 2)))
	if err == nil {
		f.about = "the gangs of another namespace"
		f.waited, f.bound = g.awaitBound(ctx, waiting["crew-0"], waiting["band-0"], last["crew-1"], last["band-1"])
	}
	return f, err
}

// ownerStolen claims to be of a JobSet of its own namespace: by the owner alone, and by its name alone.
func ownerStolen(ctx context.Context, g *ground) (f forgery, err error) {
	if _, err := g.stage(ctx, newNodes("hall", 1, "8")); err != nil {
		return f, err
	}
	owner, err := g.admin().createJobSet(ctx, tenantNamespace, "theirs", role("workers", int64(1), int64(3)))
	if err != nil {
		return f, err
	}
	member := func(name string) *corev1.Pod { return newPod(tenantNamespace, name, "1", ownedBy(owner)) }
	waiting, err := g.create(ctx, member("theirs-0"), member("theirs-1"))
	if err != nil {
		return f, err
	}
	noRole := newPod(tenantNamespace, "no-role", "1", scheduledBy(byHand), ownedBy(owner))
	noRole.Labels["jobset.sigs.k8s.io/replicatedjob-name"] = "made-up"
	forged, err := g.createAs(ctx, g.tenant, noRole,
		newPod(tenantNamespace, "namesake", "1", scheduledBy(byHand), ownedBy(jobSetNamed("theirs", "another"))),
		newPod(tenantNamespace, "no-controller", "1", scheduledBy(byHand), ownedBy(owner), func(pod *corev1.Pod) {
			pod.OwnerReferences[0].Controller = nil
		}))
	if err != nil {
		return f, err
	}
	for i, words := range []string{"it plays no part that is waited for", "JobSet theirs", "member of no gang"} {
		if err := f.explains(ctx, g, forged[i], words); err != nil {
			return f, err
		}
	}
	if err := settle(ctx); err != nil {
		return f, err
	}
	if f.early, err = g.bound(ctx, waiting["theirs-0"], waiting["theirs-1"]); err != nil {
		return f, err
	}
	last, err := g.create(ctx, member("theirs-2"))
	if err == nil {
		f.about = "the JobSet"
		f.waited, f.bound = g.awaitBound(ctx, waiting["theirs-0"], waiting["theirs-1"], last["theirs-2"])
	}
	return f, err
}

// contradictions has pods with the marks of two gangs each, which would be whole if both counted.
func contradictions(ctx context.Context, g *ground) (f forgery, err error) {
	if _, err := g.stage(ctx, newNodes("hall", 1, "8")); err != nil {
		return f, err
	}
	owner, err := g.tenant.createJobSet(ctx, tenantNamespace, "both", role("workers", int64(1), int64(2)))
	if err != nil {
		return f, err
	}
	volcano := annotated("scheduling.k8s.io/group-name", "both")
	pods, err := g.createAs(ctx, g.tenant,
		newPod(tenantNamespace, "both-0", "1", ownedBy(owner), memberOf("both-by-label", 2), volcano),
		newPod(tenantNamespace, "both-1", "1", ownedBy(owner)),
		newPod(tenantNamespace, "two-labels-0", "1", memberOf("by-label", 2), of("by-podgroup")),
		newPod(tenantNamespace, "two-labels-1", "1", memberOf("by-label", 2)),
		newPod(tenantNamespace, "disagrees-0", "1", memberOf("disagrees", 3)),
		newPod(tenantNamespace, "disagrees-1", "1", memberOf("disagrees", 1)),
	)
	if err != nil {
		return f, err
	}
	for i, words := range []string{
		"by its own mark " + v1alpha1.LabelMuster, "its JobSet both: 2 of its 2 pods", "by its own mark " + v1alpha1.LabelX,
		"by its own mark " + v1alpha1.LabelMuster,
	} {
		if err := f.explains(ctx, g, pods[i], words); err != nil {
			return f, err
		}
	}
	if err := g.startsOwned(ctx, &f); err != nil {
		return f, err
	}
	if err := settle(ctx); err != nil {
		return f, err
	}
	f.early, err = g.bound(ctx, pods...)
	return f, err
}

// absurdOwners have numbers that nobody means. A pod of each is there.
func absurdOwners(ctx context.Context, g *ground) (f forgery, err error) {
	if _, err := g.stage(ctx, newNodes("hall", 1, "8")); err != nil {
		return f, err
	}
	crowd := make([]any, 10_000)
	for i := range crowd {
		crowd[i] = role(fmt.Sprintf("r%d", i), int64(1), int64(2))
	}
	crowd[0] = role("workers", int64(1), int64(2))
	var pods []*corev1.Pod
	for name, roles := range map[string][]any{
		"most":     {role("workers", int64(1), int64(math.MaxInt32))},
		"product":  {role("workers", int64(math.MaxInt32), int64(math.MaxInt32))},
		"sum":      {role("workers", int64(1), int64(math.MaxInt32)), role("others", int64(1), int64(math.MaxInt32))},
		"over":     {role("workers", int64(math.MaxInt64), int64(math.MaxInt64))},
		"crowd":    crowd,
		"negative": {role("workers", int64(-1), int64(-1)), role("others", int64(1), int64(3))},
		"words":    {role("workers", "many", "2147483648"), role("others", int64(1), int64(3))},
	} {
		owner, err := g.tenant.createJobSet(ctx, tenantNamespace, name, roles...)
		if err != nil {
			return f, err
		}
		change := []func(*corev1.Pod){ownedBy(owner)}
		if name == "negative" || name == "words" { // they may be single: what counts is that others start
			change = append(change, scheduledBy(byHand))
		}
		pods = append(pods, newPod(tenantNamespace, name, "1", change...))
	}
	created, err := g.createAs(ctx, g.tenant, pods...)
	if err != nil {
		return f, err
	}
	for _, pod := range created {
		if err := f.explains(ctx, g, pod, "its JobSet "+pod.Name+": "); err != nil {
			return f, err
		}
	}
	if err := g.startsOwned(ctx, &f); err != nil {
		return f, err
	}
	if err := settle(ctx); err != nil {
		return f, err
	}
	f.early, err = g.bound(ctx, created...)
	return f, err
}

func manyRoles(ctx context.Context, g *ground) error {
	for i := range 8 {
		roles := make([]any, 10_000)
		for j := range roles {
			roles[j] = role(fmt.Sprintf("r%d", j), int64(1), int64(1))
		}
		name := fmt.Sprintf("many-%d", i)
		owner, err := g.tenant.createJobSet(ctx, tenantNamespace, name, roles...)
		if err != nil {
			return err
		}
		for j := range 5 {
			pod := newPod(tenantNamespace, fmt.Sprintf("%s-%d", name, j), "1", scheduledBy(byHand), ownedBy(owner), func(pod *corev1.Pod) {
				pod.Labels["jobset.sigs.k8s.io/replicatedjob-name"] = fmt.Sprintf("r%d", j)
			})
			if _, err := g.createAs(ctx, g.tenant, pod); err != nil {
				return err
			}
		}
	}
	return nil
}
