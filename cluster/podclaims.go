package cluster

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
)

// ClaimProblem says why the ResourceClaims of a pod are of no use to it.
type ClaimProblem string

// Problems with the ResourceClaims of a pod.
const (
	ClaimMissing ClaimProblem = "missing" // there is none, or none yet
	ClaimLeaves  ClaimProblem = "leaves"  // it is being deleted
	ClaimForeign ClaimProblem = "foreign" // somebody else made it
)

// claims says which ResourceClaims are whose.
type claims struct {
	fleet   *fleet
	waiting *waiting

	// seen says that there was anything of devices ever. Until then it may be that they cannot be read, and no claim is missed.
	seen      bool
	objects   map[types.NamespacedName]*resourcev1.ResourceClaim
	templates map[types.NamespacedName]*resourcev1.ResourceClaimTemplate
	users     map[types.NamespacedName]sets.Set[types.UID] // pods whose specs name a claim
	named     map[types.UID][]types.NamespacedName         // what the spec of a pod names
	// extended are the claims that kube-scheduler made for extended resources, by the namespace and the UID of
	// their pods. A user who may create claims can name any pod there, but only in the claim's own namespace.
	extended map[owner]types.NamespacedName
}

func newClaims(f *fleet, w *waiting) claims {
	return claims{
		fleet: f, waiting: w,
		objects: map[types.NamespacedName]*resourcev1.ResourceClaim{}, templates: map[types.NamespacedName]*resourcev1.ResourceClaimTemplate{},
		users: map[types.NamespacedName]sets.Set[types.UID]{}, named: map[types.UID][]types.NamespacedName{},
		extended: map[owner]types.NamespacedName{},
	}
}

// resolve sets the claims of a pod that nobody else holds yet, and follows the claims that the pod names.
func (c *claims) resolve(pod *Pod) {
	c.forget(pod.UID)
	pod.Claims, pod.ClaimProblem = nil, ""
	for i := range pod.Spec.ResourceClaims {
		name, owned, err := resourceclaim.Name(pod.Pod, &pod.Spec.ResourceClaims[i])
		switch {
		case err != nil:
			pod.ClaimProblem = c.missing()
			continue
		case name == nil: // its template asks for nothing
			continue
		}
		key := types.NamespacedName{Namespace: pod.Namespace, Name: *name}
		c.follow(pod.UID, key)
		claim := c.objects[key]
		switch {
		case claim == nil:
			pod.ClaimProblem = c.missing()
		case claim.DeletionTimestamp != nil:
			pod.ClaimProblem = ClaimLeaves
		case owned && !metav1.IsControlledBy(claim, pod):
			pod.ClaimProblem = ClaimForeign
		default:
			pod.Claims = append(pod.Claims, claim)
		}
	}
	if key, has := c.extended[owner{pod.Namespace, pod.UID}]; has {
		pod.Claims = append(pod.Claims, c.objects[key])
	}
}

// mostForeseen is how many claims a pod may name that no API server has seen, as one that is posted.
const mostForeseen = 100

// missing returns the problem of a pod without one of its claims.
func (c *claims) missing() ClaimProblem {
	if !c.seen {
		return ""
	}
	return ClaimMissing
}

// foresee sets the claims of a future pod: the claims that will be made for it.
func (c *claims) foresee(pod *Pod) {
	pod.Claims, pod.ClaimProblem = nil, ""
	if len(pod.Spec.ResourceClaims) > mostForeseen {
		pod.ClaimProblem = ClaimMissing
		return
	}
	for i := range pod.Spec.ResourceClaims {
		wanted := &pod.Spec.ResourceClaims[i]
		claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: pod.Name + "-" + wanted.Name, UID: pod.UID + types.UID("/"+wanted.Name),
		}}
		switch {
		case wanted.ResourceClaimTemplateName != nil:
			template := c.templates[types.NamespacedName{Namespace: pod.Namespace, Name: *wanted.ResourceClaimTemplateName}]
			if template == nil {
				pod.ClaimProblem = c.missing()
				continue
			}
			claim.Spec = template.Spec.Spec
		case wanted.ResourceClaimName != nil:
			if claim = c.objects[types.NamespacedName{Namespace: pod.Namespace, Name: *wanted.ResourceClaimName}]; claim == nil {
				pod.ClaimProblem = c.missing()
				continue
			}
		}
		pod.Claims = append(pod.Claims, claim)
	}
}

func (c *claims) follow(pod types.UID, claim types.NamespacedName) {
	if c.users[claim] == nil {
		c.users[claim] = sets.New[types.UID]()
	}
	c.users[claim].Insert(pod)
	c.named[pod] = append(c.named[pod], claim)
}

// forget ends to follow what a pod names.
func (c *claims) forget(pod types.UID) {
	for _, claim := range c.named[pod] {
		if c.users[claim].Delete(pod).Len() == 0 {
			delete(c.users, claim)
		}
	}
	delete(c.named, pod)
}

// change applies that a claim came or changed, or is gone when it is nil: its devices are held, or free. It returns its pods
// as they are with it, or without.
func (c *claims) change(name types.NamespacedName, claim *resourcev1.ResourceClaim) (pods []*Pod) {
	c.fleet.refreshDevices(c.fleet.setClaim(name, claim))
	for _, uid := range c.set(name, claim) {
		pod := c.waiting.pending[uid]
		if at, placed := c.fleet.ledger.placed[uid]; pod == nil && placed {
			pod = at.pod
		}
		if pod != nil {
			next := *pod
			c.resolve(&next)
			pods = append(pods, &next)
		}
	}
	return pods
}

// take takes in a claim, or a template of some. It returns the pods as they are then.
func (c *claims) take(object runtime.Object) (pods []*Pod) {
	switch o := object.(type) {
	case *resourcev1.ResourceClaim:
		return c.change(key(o), o)
	case *resourcev1.ResourceClaimTemplate:
		c.templates[key(o)] = o
	}
	return nil
}

// see takes note that objects about devices exist. It returns the pods as they are then, the first time.
func (c *claims) see() (pods []*Pod) {
	if c.seen {
		return nil
	}
	c.seen = true
	for _, uid := range slices.Sorted(maps.Keys(c.waiting.pending)) {
		if pod := c.waiting.pending[uid]; len(pod.Spec.ResourceClaims) > 0 {
			next := *pod
			c.resolve(&next)
			pods = append(pods, &next)
		}
	}
	return pods
}

// set takes a claim in, or out when it is nil, and returns the pods that it is of.
func (c *claims) set(name types.NamespacedName, next *resourcev1.ResourceClaim) (pods []types.UID) {
	of := sets.New[types.UID]()
	if last := c.objects[name]; last != nil {
		if next != nil && sameButVersion(last, next) {
			return nil
		}
		if pod, is := extendedFor(last); is && c.extended[pod] == name {
			delete(c.extended, pod)
			of.Insert(pod.uid)
		}
	}
	if next == nil {
		delete(c.objects, name)
	} else {
		c.objects[name] = next
		if pod, is := extendedFor(next); is {
			c.extended[pod] = name
			of.Insert(pod.uid)
		}
	}
	maps.Copy(of, c.users[name])
	return slices.Sorted(maps.Keys(of))
}

// owner is a pod that has claims of its own.
type owner struct {
	namespace string
	uid       types.UID
}

// extendedFor returns the pod for whose extended resources kube-scheduler made a claim.
func extendedFor(claim *resourcev1.ResourceClaim) (pod owner, is bool) {
	controller := metav1.GetControllerOfNoCopy(claim)
	if controller == nil || controller.Kind != "Pod" || claim.Annotations[resourcev1.ExtendedResourceClaimAnnotation] != "true" {
		return owner{}, false
	}
	return owner{claim.Namespace, controller.UID}, true
}

// Anew is the pod as its controller would make it again: without a node, and with claims of its own that
// are not allocated.
func (p *Pod) Anew() *Pod {
	object := *p.Pod
	object.Spec.NodeName, object.Status = "", corev1.PodStatus{}
	next := NewPod(&object)
	next.ClaimProblem, next.Affiliation = p.ClaimProblem, p.Affiliation
	for _, claim := range p.Claims {
		if _, extended := extendedFor(claim); extended {
			continue
		}
		if metav1.IsControlledBy(claim, p) {
			claim = &resourcev1.ResourceClaim{
				ObjectMeta: metav1.ObjectMeta{Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID + "/anew"}, Spec: claim.Spec,
			}
		}
		next.Claims = append(next.Claims, claim)
	}
	return next
}
