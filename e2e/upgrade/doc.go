// Package upgrade holds the test of a cluster whose Kubernetes is upgraded while muster schedules.
//
// The oldest release that muster is tested with becomes the newest one, component by component on the same etcd, as
// kubeadm would: the API server, the controllers, the scheduler. Pods are created all the while, some of them in gangs,
// and muster runs through all of it. Afterwards every pod that was created has to be bound. No node may ever have held
// more than it offers, and no gang that lacks room may have started in part.
package upgrade
