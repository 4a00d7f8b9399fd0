package kubescheduler

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	componentbase "k8s.io/component-base/config/v1alpha1"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"
)

func shapeOfV1() any { return new(schedulerv1.KubeSchedulerConfiguration) }

func shapeOfV1beta3() any { return new(v1beta3) }

func shapeOfV1beta2() any { return new(v1beta2) }

func shapeOfV1beta1() any { return new(v1beta1) }

func shapeOfV1alpha2() any { return new(v1alpha2Shape) }

func shapeOfV1alpha1() any { return new(v1alpha1Shape) }

// process has the fields about the process of all versions before v1.
type process struct {
	metav1.TypeMeta                      `json:",inline"`
	componentbase.DebuggingConfiguration `json:",inline"`

	ClientConnection         componentbase.ClientConnectionConfiguration `json:"clientConnection"`
	PercentageOfNodesToScore *int32                                      `json:"percentageOfNodesToScore"`
	PodInitialBackoffSeconds *int64                                      `json:"podInitialBackoffSeconds"`
	PodMaxBackoffSeconds     *int64                                      `json:"podMaxBackoffSeconds"`
}

// alphas has further ones of v1alpha1 and v1alpha2.
type alphas struct {
	HealthzBindAddress *string `json:"healthzBindAddress"`
	MetricsBindAddress *string `json:"metricsBindAddress"`
	DisablePreemption  *bool   `json:"disablePreemption"`
	BindTimeoutSeconds *int64  `json:"bindTimeoutSeconds"`
}

type v1alpha1Shape struct {
	process `json:",inline"`
	alphas  `json:",inline"`

	LeaderElection                 v1alpha1LeaderElection `json:"leaderElection"`
	SchedulerName                  *string                `json:"schedulerName"`
	AlgorithmSource                algorithmSource        `json:"algorithmSource"`
	HardPodAffinitySymmetricWeight *int32                 `json:"hardPodAffinitySymmetricWeight"`
	Plugins                        *v1alpha1Plugins       `json:"plugins"`
	PluginConfig                   []pluginShape          `json:"pluginConfig"`
}

// v1alpha1LeaderElection has resourceNamespace and resourceName under names of its own, too.
type v1alpha1LeaderElection struct {
	componentbase.LeaderElectionConfiguration `json:",inline"`

	LockObjectNamespace string `json:"lockObjectNamespace"`
	LockObjectName      string `json:"lockObjectName"`
}

// algorithmSource says which plugins run by default, by a provider or a policy.
type algorithmSource struct {
	Policy   *policySource `json:"policy"`
	Provider *string       `json:"provider"`
}

// policySource is where a policy is.
type policySource struct {
	File *struct {
		Path string `json:"path"`
	} `json:"file"`
	ConfigMap *struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
	} `json:"configMap"`
}

type v1alpha2Shape struct {
	process `json:",inline"`
	alphas  `json:",inline"`

	LeaderElection componentbase.LeaderElectionConfiguration `json:"leaderElection"`
	Profiles       []profileShape[v1alpha2Plugins]           `json:"profiles"`
	Extenders      []v1alpha2Extender                        `json:"extenders"`
}

// v1alpha2Extender differs from today's in how two fields are written.
type v1alpha2Extender struct {
	URLPrefix        string                                `json:"urlPrefix"`
	FilterVerb       string                                `json:"filterVerb"`
	PreemptVerb      string                                `json:"preemptVerb"`
	PrioritizeVerb   string                                `json:"prioritizeVerb"`
	Weight           int64                                 `json:"weight"`
	BindVerb         string                                `json:"bindVerb"`
	EnableHTTPS      bool                                  `json:"enableHttps"`
	TLSConfig        *schedulerv1.ExtenderTLSConfig        `json:"tlsConfig"`
	HTTPTimeout      int64                                 `json:"httpTimeout"`
	NodeCacheCapable bool                                  `json:"nodeCacheCapable"`
	ManagedResources []schedulerv1.ExtenderManagedResource `json:"managedResources"`
	Ignorable        bool                                  `json:"ignorable"`
}

// betas has further ones of v1beta1, v1beta2 and v1beta3.
type betas struct {
	Parallelism    *int32                                    `json:"parallelism"`
	LeaderElection componentbase.LeaderElectionConfiguration `json:"leaderElection"`
	Extenders      []schedulerv1.Extender                    `json:"extenders"`
}

type v1beta1 struct {
	process `json:",inline"`
	betas   `json:",inline"`

	HealthzBindAddress *string                        `json:"healthzBindAddress"`
	MetricsBindAddress *string                        `json:"metricsBindAddress"`
	Profiles           []profileShape[v1beta1Plugins] `json:"profiles"`
}

type v1beta2 struct {
	process `json:",inline"`
	betas   `json:",inline"`

	HealthzBindAddress *string                        `json:"healthzBindAddress"`
	MetricsBindAddress *string                        `json:"metricsBindAddress"`
	Profiles           []profileShape[v1beta2Plugins] `json:"profiles"`
}

type v1beta3 struct {
	process `json:",inline"`
	betas   `json:",inline"`

	Profiles []profileShape[v1beta2Plugins] `json:"profiles"`
}

// profileShape is a profile with the extension points of P.
type profileShape[P any] struct {
	SchedulerName *string       `json:"schedulerName"`
	Plugins       *P            `json:"plugins"`
	PluginConfig  []pluginShape `json:"pluginConfig"`
}

// pluginShape has arguments of a plugin, of any type.
type pluginShape struct {
	Name string `json:"name"`
	Args any    `json:"args"`
}

// points are the extension points of every version.
type points struct {
	QueueSort schedulerv1.PluginSet `json:"queueSort"`
	PreFilter schedulerv1.PluginSet `json:"preFilter"`
	Filter    schedulerv1.PluginSet `json:"filter"`
	Score     schedulerv1.PluginSet `json:"score"`
	Reserve   schedulerv1.PluginSet `json:"reserve"`
	Permit    schedulerv1.PluginSet `json:"permit"`
	PreBind   schedulerv1.PluginSet `json:"preBind"`
	Bind      schedulerv1.PluginSet `json:"bind"`
	PostBind  schedulerv1.PluginSet `json:"postBind"`
}

type v1alpha1Plugins struct {
	points `json:",inline"`

	PostFilter schedulerv1.PluginSet `json:"postFilter"`
	Unreserve  schedulerv1.PluginSet `json:"unreserve"`
}

type v1alpha2Plugins struct {
	points `json:",inline"`

	PreScore  schedulerv1.PluginSet `json:"preScore"`
	Unreserve schedulerv1.PluginSet `json:"unreserve"`
}

type v1beta1Plugins struct {
	points `json:",inline"`

	PostFilter schedulerv1.PluginSet `json:"postFilter"`
	PreScore   schedulerv1.PluginSet `json:"preScore"`
}

type v1beta2Plugins struct {
	v1beta1Plugins `json:",inline"`

	PreEnqueue schedulerv1.PluginSet `json:"preEnqueue"`
	MultiPoint schedulerv1.PluginSet `json:"multiPoint"`
}
