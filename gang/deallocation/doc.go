// Package deallocation takes back the devices that are held for members of gangs in vain.
//
// kube-scheduler writes which devices a ResourceClaim gets before it calls bind (PreBind of its plugin DynamicResources),
// and muster refuses bind calls of members whose gang does not come together in time. kube-scheduler takes the pod off the
// claim then (Unreserve), and leaves the devices to it. It takes them back when a later try finds that they keep the pod
// from a node (PostFilter), but not while it is something else that does, as that the nodes are full. So they are lost to
// all others for as long as the gang waits.
//
// It takes back what PostFilter would take back: the allocation of a claim that nobody has reserved. Anybody who wants the
// claim meanwhile writes to it, and one of the two writes fails: the API server takes a write to a former version for a
// conflict, and does not reserve a claim that is not allocated.
package deallocation
