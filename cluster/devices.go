package cluster

import (
	"cmp"
	"maps"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"
)

// Devices are pools of devices: what ResourceSlices tell of them, and which claims hold some. They are immutable.
type Devices struct {
	// Slices are the ResourceSlices of the pools, sorted by name.
	Slices []*resourcev1.ResourceSlice
	// Claims are the allocated ResourceClaims that hold devices of the pools, by namespace and name.
	Claims []*resourcev1.ResourceClaim
}

// without returns d after a pod has left. Reservations of that pod are given back unless a pod that stays
// shares them.
func (d *Devices) without(pod types.UID, stay []*Pod) *Devices {
	if d == nil || !slices.ContainsFunc(d.Claims, func(c *resourcev1.ResourceClaim) bool { return reservedFor(c, pod) }) {
		return d
	}
	there := sets.New[types.UID]()
	for _, other := range stay {
		there.Insert(other.UID)
	}
	return &Devices{Slices: d.Slices, Claims: slices.DeleteFunc(slices.Clone(d.Claims), func(c *resourcev1.ResourceClaim) bool {
		return reservedFor(c, pod) && !slices.ContainsFunc(c.Status.ReservedFor, func(r resourcev1.ResourceClaimConsumerReference) bool {
			return there.Has(r.UID)
		})
	})}
}

func reservedFor(claim *resourcev1.ResourceClaim, pod types.UID) bool {
	return slices.ContainsFunc(claim.Status.ReservedFor, func(r resourcev1.ResourceClaimConsumerReference) bool { return r.UID == pod })
}

// poolID names a pool of devices.
type poolID struct{ driver, name string }

// pool is a pool of devices as far as it is known. Its claims may be known before its slices are.
type pool struct {
	slices map[string]*resourcev1.ResourceSlice
	claims map[types.NamespacedName]*resourcev1.ResourceClaim
}

// home returns the name of the one node that has the devices of the pool, "" when others may have some.
func (p *pool) home() string {
	home := ""
	for _, slice := range p.slices {
		name := ptr.Deref(slice.Spec.NodeName, "")
		if name == "" || home != "" && home != name {
			return ""
		}
		home = name
	}
	return home
}

// inventory puts together which devices there are, by the node that has them.
type inventory struct {
	slices map[string]*resourcev1.ResourceSlice // as the API shows them; slices of a pool also have the taints of rules
	taints taintRules
	claims map[types.NamespacedName]*resourcev1.ResourceClaim // allocated ones
	pools  map[poolID]*pool
	homes  map[string]sets.Set[poolID] // by the name of a node; under "" the pools that belong to no single node
}

func newInventory() inventory {
	return inventory{
		slices: map[string]*resourcev1.ResourceSlice{}, taints: taintRules{}, claims: map[types.NamespacedName]*resourcev1.ResourceClaim{},
		pools: map[poolID]*pool{}, homes: map[string]sets.Set[poolID]{},
	}
}

// setSlice takes a slice in, or out when it is nil, and returns the homes whose devices are others now.
func (i *inventory) setSlice(name string, next *resourcev1.ResourceSlice) (changed sets.Set[string]) {
	last := i.slices[name]
	if last != nil && next != nil && sameButVersion(last, next) {
		return nil
	}
	changed = sets.New[string]()
	if last != nil {
		delete(i.slices, name)
		i.change(poolOf(last), changed, func(p *pool) { delete(p.slices, name) })
	}
	if next != nil {
		i.slices[name] = next
		i.change(poolOf(next), changed, func(p *pool) { p.slices[name] = i.taints.taint(next) })
	}
	return changed
}

// setTaintRule is setSlice for a rule that taints devices.
func (i *inventory) setTaintRule(name string, next *DeviceTaintRule) (changed sets.Set[string]) {
	last := i.taints[name]
	if last != nil && next != nil && equality.Semantic.DeepEqual(&last.Spec, &next.Spec) {
		return nil
	}
	if i.taints[name] = next; next == nil {
		delete(i.taints, name)
	}
	changed = sets.New[string]()
	for _, slice := range i.slices {
		if concerns(last, slice) || concerns(next, slice) {
			i.change(poolOf(slice), changed, func(p *pool) { p.slices[slice.Name] = i.taints.taint(slice) })
		}
	}
	return changed
}

// setClaim is setSlice for a claim.
func (i *inventory) setClaim(name types.NamespacedName, next *resourcev1.ResourceClaim) (changed sets.Set[string]) {
	last := i.claims[name]
	if next != nil && next.Status.Allocation == nil {
		next = nil
	}
	changed = sets.New[string]()
	if last != nil {
		delete(i.claims, name)
		for id := range poolsOf(last) {
			i.change(id, changed, func(p *pool) { delete(p.claims, name) })
		}
	}
	if next != nil {
		i.claims[name] = next
		for id := range poolsOf(next) {
			i.change(id, changed, func(p *pool) { p.claims[name] = next })
		}
	}
	return changed
}

// change changes a pool, and notes its home before and after.
func (i *inventory) change(id poolID, changed sets.Set[string], how func(*pool)) {
	p := i.pools[id]
	if p == nil {
		p = &pool{slices: map[string]*resourcev1.ResourceSlice{}, claims: map[types.NamespacedName]*resourcev1.ResourceClaim{}}
		i.pools[id] = p
	}
	before := p.home()
	how(p)
	after := p.home()
	changed.Insert(before, after)
	if before != after && i.homes[before].Delete(id).Len() == 0 {
		delete(i.homes, before)
	}
	if len(p.slices)+len(p.claims) == 0 {
		delete(i.pools, id)
		if i.homes[after].Delete(id).Len() == 0 {
			delete(i.homes, after)
		}
		return
	}
	if i.homes[after] == nil {
		i.homes[after] = sets.New[poolID]()
	}
	i.homes[after].Insert(id)
}

// at returns the devices of one node, or under "" the devices that belong to no single node. It returns nil if
// there are none.
func (i *inventory) at(home string) *Devices {
	slicesThere, claims := map[string]*resourcev1.ResourceSlice{}, map[types.NamespacedName]*resourcev1.ResourceClaim{}
	for id := range i.homes[home] {
		maps.Copy(slicesThere, i.pools[id].slices)
		maps.Copy(claims, i.pools[id].claims)
	}
	if len(slicesThere) == 0 {
		return nil
	}
	return &Devices{
		Slices: slices.SortedFunc(maps.Values(slicesThere), func(a, b *resourcev1.ResourceSlice) int { return cmp.Compare(a.Name, b.Name) }),
		Claims: slices.SortedFunc(maps.Values(claims), func(a, b *resourcev1.ResourceClaim) int {
			return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
		}),
	}
}

func poolOf(slice *resourcev1.ResourceSlice) poolID {
	return poolID{slice.Spec.Driver, slice.Spec.Pool.Name}
}

// poolsOf returns the pools whose devices a claim holds.
func poolsOf(claim *resourcev1.ResourceClaim) sets.Set[poolID] {
	pools := sets.New[poolID]()
	for i := range claim.Status.Allocation.Devices.Results {
		result := &claim.Status.Allocation.Devices.Results[i]
		pools.Insert(poolID{result.Driver, result.Pool})
	}
	return pools
}

// taintRules are the DeviceTaintRules, by name. They taint devices beside what the ResourceSlices say.
type taintRules map[string]*DeviceTaintRule

// taint returns a slice with the taints that rules lay on its devices: the slice itself, unless there are some
// (applyPatches in k8s.io/dynamic-resource-allocation/resourceslice/tracker).
func (r taintRules) taint(slice *resourcev1.ResourceSlice) *resourcev1.ResourceSlice {
	tainted := slice
	for _, name := range slices.Sorted(maps.Keys(r)) {
		rule := r[name]
		if !concerns(rule, slice) {
			continue
		}
		for i := range slice.Spec.Devices {
			if of := rule.Spec.DeviceSelector.Device; of != nil && *of != slice.Spec.Devices[i].Name {
				continue
			}
			if tainted == slice {
				tainted = slice.DeepCopy()
			}
			device := &tainted.Spec.Devices[i]
			device.Taints = append(device.Taints, rule.Spec.Taint)
		}
	}
	return tainted
}

// concerns reports whether a rule may taint devices of a slice. A rule without a selector taints none.
func concerns(rule *DeviceTaintRule, slice *resourcev1.ResourceSlice) bool {
	if rule == nil || rule.Spec.DeviceSelector == nil {
		return false
	}
	driver, pool := rule.Spec.DeviceSelector.Driver, rule.Spec.DeviceSelector.Pool
	return (driver == nil || *driver == slice.Spec.Driver) && (pool == nil || *pool == slice.Spec.Pool.Name)
}
