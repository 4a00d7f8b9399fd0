// Command emptyextender serves an extender that returns what it gets, to measure
// others against. It prints the address that it listens on.
package main

import (
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"muster.dev/muster/e2e/bench/emptyextender"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "host:port to listen on")
	kubeconfig := flag.String("kubeconfig", "", "kubeconfig file; without one there is no bind")
	anyNode := flag.Bool("any-node", false, "filter answers with one of the nodes and not with all")
	flag.Parse()
	filter := emptyextender.EveryNode()
	if *anyNode {
		filter = emptyextender.AnyNode()
	}
	if err := run(*listen, *kubeconfig, filter); err != nil {
		fmt.Fprintln(os.Stderr, "emptyextender:", err)
		os.Exit(1)
	}
}

func run(listen, kubeconfig string, filter emptyextender.Filter) error {
	var client kubernetes.Interface
	if kubeconfig != "" {
		config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
		if err != nil {
			return fmt.Errorf("--kubeconfig: %w", err)
		}
		config.QPS = -1 // the extender is never what limits
		config.ContentType = "application/vnd.kubernetes.protobuf"
		if client, err = kubernetes.NewForConfig(config); err != nil {
			return fmt.Errorf("--kubeconfig: %w", err)
		}
	}
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	fmt.Println(listener.Addr())
	server := &http.Server{Handler: emptyextender.Handler(filter, client), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	return server.Serve(listener)
}
