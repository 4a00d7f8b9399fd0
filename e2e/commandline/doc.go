// Package commandline tests how commands of muster ask one that runs in a cluster, as kubectl users do: with a kubeconfig,
// through the API server. The machines are KWOK's, which forwards ports of pods to the processes that stand for their
// containers.
package commandline
