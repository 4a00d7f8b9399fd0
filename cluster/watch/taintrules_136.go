//go:build kubernetes136

package watch

import "k8s.io/client-go/kubernetes"

func taintRuleSources(kubernetes.Interface) []source { return nil }
