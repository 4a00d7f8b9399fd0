package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/config/v1alpha2"
)

const (
	// APIVersion is the apiVersion of every document of this package.
	APIVersion = v1alpha2.GroupName + "/v1alpha1"
	// Kind is the kind of a configuration document.
	Kind = v1alpha2.Kind
)

// MusterConfiguration configures one muster process with one profile. The sections that
// v1alpha2 has as well mean the same there.
type MusterConfiguration struct {
	metav1.TypeMeta `json:",inline"`

	// ClientConnection is the connection to the API server.
	ClientConnection config.ClientConnection `json:"clientConnection"`
	// Serving is where and how the extender's verbs are served.
	Serving config.Serving `json:"serving"`
	// LeaderElection decides which of several replicas is ready.
	LeaderElection config.LeaderElection `json:"leaderElection"`
	// Timeouts bound how long muster lets things take.
	Timeouts config.Timeouts `json:"timeouts"`
	// Gangs bounds how groups of pods are started together.
	Gangs config.Gangs `json:"gangs"`

	// SchedulerName selects the pods by their spec.schedulerName. Defaults to
	// default-scheduler.
	SchedulerName string `json:"schedulerName"`
	// AlgorithmSource says which plugins run. Defaults to the provider DefaultProvider.
	AlgorithmSource AlgorithmSource `json:"algorithmSource"`
	// HardPodAffinitySymmetricWeight is the score, 0 to 100, that a topology domain gets for each
	// pod in it whose required affinity matches the pod at hand. Defaults to 1.
	HardPodAffinitySymmetricWeight *int32 `json:"hardPodAffinitySymmetricWeight"`
	// Plugins change the plugins of the provider. Not together with a policy.
	Plugins config.Plugins `json:"plugins"`
	// PluginConfig holds the arguments of plugins. Not together with a policy.
	PluginConfig []config.PluginConfig `json:"pluginConfig"`
}

// AlgorithmSource says which plugins run: a provider or a policy, not both.
type AlgorithmSource struct {
	// Provider is the name of a set of plugins: DefaultProvider, or
	// ClusterAutoscalerProvider, which packs pods together.
	Provider string `json:"provider"`
	// Policy lists them.
	Policy *Policy `json:"policy"`
}
