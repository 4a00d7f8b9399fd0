// Package kubeconfig finds the cluster that a command is asked about, by one rule for all commands.
package kubeconfig

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Cluster is a cluster that was found, and the way to its API server.
type Cluster struct {
	// Context of the kubeconfig, "" for the cluster of the pod in which the command runs.
	Context string
	// Namespace is where objects are that are named without one.
	Namespace string
	// Config is how the API server is asked.
	Config *rest.Config
}

// String names the context of the cluster, as people know it.
func (c *Cluster) String() string {
	if c.Context == "" {
		return "the cluster of this pod"
	}
	return "context " + c.Context
}

// Find returns the cluster of a file if one is named, else that of $KUBECONFIG, else that of ~/.kube/config, else that of the pod in
// which the command runs. An empty context stands for the current one.
func Find(file, context string) (*Cluster, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath, rules.WarnIfAllMissing = file, false
	source := "kubeconfig"
	if file != "" {
		source = "--kubeconfig"
	}
	loaded, err := rules.Load()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	if len(loaded.Contexts) == 0 && len(loaded.Clusters) == 0 {
		return findAround(file, context)
	}
	named := cmp.Or(context, loaded.CurrentContext)
	if _, found := loaded.Contexts[named]; !found {
		return nil, contextError(loaded, context)
	}
	client := clientcmd.NewNonInteractiveClientConfig(*loaded, named, &clientcmd.ConfigOverrides{}, rules)
	config, err := client.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: context %q: %w", named, err)
	}
	config.WarningHandler = rest.NoWarnings{} // they are about objects, and nobody here has written one
	return &Cluster{Context: named, Namespace: cmp.Or(loaded.Contexts[named].Namespace, metav1.NamespaceDefault), Config: config}, nil
}

// namespaceFile has the namespace of the pod in which a process runs.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// findAround returns the cluster of the pod in which the command runs, where no kubeconfig names one and none was asked for.
func findAround(file, context string) (*Cluster, error) {
	if file != "" || context != "" || os.Getenv(clientcmd.RecommendedConfigPathEnvVar) != "" {
		return nil, absent(file, context)
	}
	config, err := rest.InClusterConfig()
	if errors.Is(err, rest.ErrNotInCluster) {
		return nil, absent(file, context)
	}
	if err != nil {
		return nil, fmt.Errorf("the credentials of this pod: %w", err)
	}
	config.WarningHandler = rest.NoWarnings{}
	namespace, _ := os.ReadFile(namespaceFile) // a projected token may stand there alone
	return &Cluster{Namespace: cmp.Or(strings.TrimSpace(string(namespace)), metav1.NamespaceDefault), Config: config}, nil
}

// absent says where a cluster was looked for in vain.
func absent(file, context string) error {
	environment := os.Getenv(clientcmd.RecommendedConfigPathEnvVar)
	switch {
	case file != "":
		return &AbsenceError{[]string{file + ", by --kubeconfig"}}
	case environment != "":
		return &AbsenceError{[]string{"--kubeconfig, which is not given", environment + ", by $KUBECONFIG"}}
	}
	looked := []string{"--kubeconfig, which is not given", "$KUBECONFIG, which is not set", clientcmd.RecommendedHomeFile}
	if context == "" {
		looked = append(looked, "the credentials of a pod, which this is not")
	}
	return &AbsenceError{looked}
}

// AbsenceError says that no cluster is named anywhere.
type AbsenceError struct{ looked []string }

func (e *AbsenceError) Error() string {
	return "no cluster is named, looked at: " + strings.Join(e.looked, "; ") + "; name one with --kubeconfig FILE"
}

// contextError says which contexts there are.
func contextError(loaded *clientcmdapi.Config, asked string) error {
	there := "there are " + strings.Join(slices.Sorted(maps.Keys(loaded.Contexts)), ", ")
	if len(loaded.Contexts) == 0 {
		there = "it has none"
	}
	if asked != "" {
		return fmt.Errorf("--context: no context is called %q: %s", asked, there)
	}
	if loaded.CurrentContext != "" {
		return fmt.Errorf("kubeconfig: current-context: no context is called %q: %s", loaded.CurrentContext, there)
	}
	return fmt.Errorf("kubeconfig: no context is chosen: name one with --context or 'kubectl config use-context': %s", there)
}
