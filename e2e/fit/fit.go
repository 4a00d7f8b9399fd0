// Package fit tells which pending pods a cluster has room for, and whether placed pods keep apart
// as they have to.
//
// It is the judge of a run, so it shares no code with what it judges. [Places] holds each
// pod against each node by its node selector and affinity, the node's taints, host ports
// and resources, with the semantics of k8s.io/component-helpers; constraints between
// pods and volumes are not looked at, and pods that use them must not be judged by it.
// [Apart] looks at constraints between pods and at nothing else. A [Ledger] says of each
// binding of a long history whether the node had room.
package fit

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	corev1helper "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

// Place is a node that has room for a pending pod.
type Place struct {
	Pod  *corev1.Pod
	Node string
}

// Places returns a place for each pending pod that fits on some node as the cluster is
// now. Pods are judged one by one: two of them may be given the same room.
func Places(nodes []*corev1.Node, pods []*corev1.Pod) []Place {
	rooms := newRooms(nodes, pods)
	var places []Place
	for _, p := range pods {
		if p.Spec.NodeName != "" || p.DeletionTimestamp != nil || finished(p) {
			continue
		}
		if r := firstThatAdmits(rooms, newDemand(p)); r != nil {
			places = append(places, Place{Pod: p, Node: r.node.Name})
		}
	}
	return places
}

// Together is how many pods of a few, in their order, fit beside each other on the first node
// that has room, as the cluster is now. For pods that are alike it is the most that fit.
func Together(nodes []*corev1.Node, pods, few []*corev1.Pod) (fit int) {
	rooms := newRooms(nodes, pods)
	for _, p := range few {
		demand := newDemand(p)
		if r := firstThatAdmits(rooms, demand); r != nil {
			r.take(demand)
			fit++
		}
	}
	return fit
}

// newRooms returns the room that nodes have left beside their bound pods.
func newRooms(nodes []*corev1.Node, pods []*corev1.Pod) []*room {
	rooms := make([]*room, len(nodes))
	byName := make(map[string]*room, len(nodes))
	for i, n := range nodes {
		rooms[i] = newRoom(n)
		byName[n.Name] = rooms[i]
	}
	for _, p := range pods {
		if r := byName[p.Spec.NodeName]; r != nil && !finished(p) {
			r.take(newDemand(p))
		}
	}
	return rooms
}

func firstThatAdmits(rooms []*room, d demand) *room {
	for _, r := range rooms {
		if r.admits(d) {
			return r
		}
	}
	return nil
}

// finished pods hold no room although they name a node.
func finished(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// room is the free part of a node.
type room struct {
	node  *corev1.Node
	free  corev1.ResourceList
	pods  int64
	ports map[hostPort]int // how many pods have it
}

type hostPort struct {
	protocol corev1.Protocol
	ip       string
	port     int32
}

// demand is a pending pod with what is asked about it often.
type demand struct {
	pod      *corev1.Pod
	affinity nodeaffinity.RequiredNodeAffinity
	requests corev1.ResourceList
	ports    []hostPort
}

func newDemand(p *corev1.Pod) demand {
	return demand{
		pod:      p,
		affinity: nodeaffinity.GetRequiredNodeAffinity(p),
		requests: resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{}),
		ports:    hostPorts(p),
	}
}

func newRoom(n *corev1.Node) *room {
	return &room{
		node:  n,
		free:  n.Status.Allocatable.DeepCopy(),
		pods:  n.Status.Allocatable.Pods().Value(),
		ports: map[hostPort]int{},
	}
}

func (r *room) take(d demand) {
	r.pods--
	for name, asked := range d.requests {
		left := r.free[name]
		left.Sub(asked)
		r.free[name] = left
	}
	for _, port := range d.ports {
		r.ports[port]++
	}
}

// give takes back what was taken for a pod.
func (r *room) give(d demand) {
	r.pods++
	for name, asked := range d.requests {
		left := r.free[name]
		left.Add(asked)
		r.free[name] = left
	}
	for _, port := range d.ports {
		if r.ports[port]--; r.ports[port] == 0 {
			delete(r.ports, port)
		}
	}
}

func (r *room) admits(d demand) bool {
	return !r.repels(d.pod) && r.matches(d) && len(r.lacking(d)) == 0
}

func (r *room) repels(p *corev1.Pod) bool {
	taints := r.node.Spec.Taints
	if r.node.Spec.Unschedulable {
		taints = append([]corev1.Taint{{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}}, taints...)
	}
	_, untolerated := corev1helper.FindMatchingUntoleratedTaint(klog.Background(), taints, p.Spec.Tolerations, func(t *corev1.Taint) bool {
		return t.Effect != corev1.TaintEffectPreferNoSchedule
	}, false)
	return untolerated
}

// matches takes an affinity that cannot be parsed for one that matches nothing.
func (r *room) matches(d demand) bool {
	ok, err := d.affinity.Match(r.node)
	return err == nil && ok
}

// lacking names, in alphabetical order, what is missing for one more pod.
func (r *room) lacking(d demand) []string {
	var missing []string
	if r.pods < 1 {
		missing = append(missing, "pods")
	}
	for name, asked := range d.requests {
		if left := r.free[name]; !asked.IsZero() && left.Cmp(asked) < 0 {
			missing = append(missing, string(name))
		}
	}
	if r.portTaken(d.ports) {
		missing = append(missing, "host ports")
	}
	slices.Sort(missing)
	return missing
}

func (r *room) portTaken(ports []hostPort) bool {
	for _, want := range ports {
		for taken := range r.ports {
			if want.overlaps(taken) {
				return true
			}
		}
	}
	return false
}

func (p hostPort) overlaps(o hostPort) bool {
	return p.port == o.port && p.protocol == o.protocol && (p.ip == o.ip || p.ip == anyIP || o.ip == anyIP)
}

const anyIP = "0.0.0.0"

func hostPorts(p *corev1.Pod) []hostPort {
	var ports []hostPort
	add := func(containers []corev1.Container) {
		for _, c := range containers {
			for _, port := range c.Ports {
				if port.HostPort > 0 {
					ports = append(ports, newHostPort(port))
				}
			}
		}
	}
	add(p.Spec.Containers)
	for i, c := range p.Spec.InitContainers {
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			add(p.Spec.InitContainers[i : i+1])
		}
	}
	return ports
}

func newHostPort(port corev1.ContainerPort) hostPort {
	h := hostPort{protocol: port.Protocol, ip: port.HostIP, port: port.HostPort}
	if h.protocol == "" {
		h.protocol = corev1.ProtocolTCP
	}
	if h.ip == "" {
		h.ip = anyIP
	}
	return h
}
