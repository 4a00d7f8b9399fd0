package forward

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// ErrNoKubeconfig says that none of the files in which kubectl looks for a kubeconfig names a cluster.
var ErrNoKubeconfig = errors.New("there is no kubeconfig")

// Access is the way to a cluster.
type Access struct {
	// Context of the kubeconfig, and the namespace that it is for.
	Context, Namespace string
	// Config is how the API server is asked.
	Config *rest.Config
}

// Load reads the same files as kubectl: file if it is set, else those named by $KUBECONFIG, else ~/.kube/config. An empty
// context stands for the current one.
func Load(file, context string) (*Access, error) {
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
	searched := strings.Join(rules.GetLoadingPrecedence(), ", ")
	if len(loaded.Contexts) == 0 && len(loaded.Clusters) == 0 {
		return nil, fmt.Errorf("%w that names a cluster: looked at %s", ErrNoKubeconfig, cmp.Or(file, searched))
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
	return &Access{Context: named, Namespace: cmp.Or(loaded.Contexts[named].Namespace, metav1.NamespaceDefault), Config: config}, nil
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
