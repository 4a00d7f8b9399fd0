// Package forward reaches the ports of muster's pods through the API server, as kubectl port-forward does.
//
// It needs what kubectl needs: a cluster, and the rights to list pods and to create pods/portforward. Pods are found by the labels
// that the chart and the documented manifest of a static pod give them. Of several replicas the one that leads is asked.
//
// No port is opened on this machine: a [Forward] dials. Each connection is a pair of streams of one upgraded connection to
// the API server, so nobody else on this machine can use the way, and what a kubelet says against it reaches who asked.
//
//	cluster, err := kubeconfig.Find("", "")
//	way, err := forward.New(forward.Options{Cluster: cluster, Process: forward.Muster()})
//	defer way.Close()
//	transport := &http.Transport{DialContext: way.Dial}
//
// A Forward that has lost its connection looks for a pod again when it dials next.
//
// The upgraded connection is client-go's (tools/portforward, transport/spdy); its PortForwarder is not used. That listens on a
// local port, which every user of this machine may then ask with the rights of the one who ran the command; it writes what the
// kubelet says against a port to a stream of its own, while the request that failed for it ends in a bare EOF; and it ends with
// its connection.
package forward
