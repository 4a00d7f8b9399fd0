// Package pairs has stock kube-schedulers run, each beside a muster that it alone calls, as on the control-plane nodes of
// kubeadm or in the pods of the chart's mode sidecar: one kube-scheduler is elected, and the muster beside it leads. It
// kills one or both of a pair, and measures how long no pod is bound.
//
// Each pair is on a host of its own, by a namespace of host names, as muster knows its kube-scheduler by the name of the
// host. What ends is started again, as a kubelet does.
package pairs
