package main

import (
	"errors"
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"muster.dev/muster/api/config"
)

// restConfig returns the way to the API server: the kubeconfig when one is named, else
// the in-cluster credentials.
func restConfig(connection config.ClientConnection) (*rest.Config, error) {
	cfg, err := credentials(connection.Kubeconfig)
	if err != nil {
		return nil, err
	}
	cfg.QPS = connection.QPS
	cfg.Burst = int(connection.Burst())
	return cfg, nil
}

func credentials(kubeconfig string) (*rest.Config, error) {
	if kubeconfig != "" {
		cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
		if err != nil {
			return nil, fmt.Errorf("kubeconfig %s: %w", kubeconfig, err)
		}
		return cfg, nil
	}
	cfg, err := rest.InClusterConfig()
	if errors.Is(err, rest.ErrNotInCluster) {
		return nil, errors.New(
			"this process runs outside of a cluster and no kubeconfig is named: use --kubeconfig or clientConnection.kubeconfig",
		)
	}
	if err != nil {
		return nil, fmt.Errorf("in-cluster credentials: %w", err)
	}
	return cfg, nil
}
