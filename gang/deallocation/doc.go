// Package deallocation takes back the devices that are held for members of gangs in vain.
//
// kube-scheduler writes which devices a ResourceClaim gets before it calls bind (PreBind of its plugin DynamicResources),
// and muster refuses bind calls of members whose gang does not come together in time. kube-scheduler takes the pod off the
// claim then (Unreserve), and leaves the devices to it. It takes them back when a later try finds that they keep the pod
// from a node (PostFilter), but not while it is something else that does, as that the nodes are full. So they are lost to
// all others for as long as the gang waits.
//
// What is taken back is what PostFilter would take: the allocation of a claim that nobody has reserved. Whoever wants it
// meanwhile writes to the claim, and either write fails: the API server takes a write to a former version for a conflict,
// and does not reserve what is not allocated.
package deallocation
