package config

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Configuration configures one muster process.
type Configuration struct {
	// ClientConnection is the connection to the API server.
	ClientConnection ClientConnection `json:"clientConnection"`
	// Serving is where and how the extender's verbs are served.
	Serving Serving `json:"serving"`
	// Debug is whether and where there is something to look at.
	Debug Debug `json:"debug"`
	// LeaderElection decides which of several replicas is ready.
	LeaderElection LeaderElection `json:"leaderElection"`
	// Timeouts bound how long muster lets things take.
	Timeouts Timeouts `json:"timeouts"`
	// VerdictStore bounds what is remembered about the pods of each profile.
	VerdictStore VerdictStore `json:"verdictStore"`
	// Nomination bounds what is nominated before kube-scheduler asks, for profiles with
	// nodeSelection: Muster.
	Nomination Nomination `json:"nomination"`
	// Ahead is how room is kept for pods that are gated until they have a place.
	Ahead Ahead `json:"ahead"`
	// Gangs bounds how groups of pods are started together.
	Gangs Gangs `json:"gangs"`
	// Load is where the figures come from that LoadAware goes by.
	Load NodeLoad `json:"load"`
	// Logging configures the log.
	Logging Logging `json:"logging"`
	// Tracing sends traces of scheduling to an OpenTelemetry collector.
	Tracing Tracing `json:"tracing"`
	// Rescheduler configures 'muster reschedule'.
	Rescheduler Rescheduler `json:"rescheduler"`
	// Profiles say how the pods of each scheduler name are treated. A pod belongs
	// to the profile whose schedulerName equals its spec.schedulerName. Defaults to
	// one profile named default-scheduler.
	Profiles []Profile `json:"profiles"`
}

// ClientConnection is the connection to the API server.
type ClientConnection struct {
	// Kubeconfig is the path of a kubeconfig file. Empty means the in-cluster
	// credentials of the pod.
	Kubeconfig string `json:"kubeconfig"`
	// QPS is how many requests a second are sent to the API server in the long run.
	// Every binding is one request. Defaults to 500.
	QPS float32 `json:"qps"`
	// Burst is how many requests may be sent at once before QPS holds them back.
	// Defaults to 1000.
	Burst int32 `json:"burst"`
}

// Serving is where and how the extender's verbs are served.
type Serving struct {
	// Listen is the host:port of the verbs, and of /livez, /readyz and /version. Port 0 picks a
	// free port. Defaults to 127.0.0.1:8888, which only a kube-scheduler in the same pod or on the
	// same host can reach. On a loopback address it answers to loopback names and addresses alone.
	Listen string `json:"listen"`
	// HealthListen is a second host:port, on which only /livez, /readyz and /metrics are
	// served, over plain http: for a kubelet and a Prometheus that cannot reach listen or
	// debug.listen, or have no certificate for it. Defaults to "", which is none.
	HealthListen string `json:"healthListen"`
	// WebhookListen is the host:port of /webhook/gates, over https with the certificate of tls, which it
	// needs: the API server asks there who is to be gated. Gates need it where Kubernetes is older than 1.36.
	// Defaults to "", with which the policy that 'muster gate-policy' prints gates pods.
	WebhookListen string `json:"webhookListen"`
	// MaxConnections is how many connections may be open to listen at a time; others take the place
	// of idle ones, or wait. One address may have three quarters of them; a tenth is for callers on
	// this host, or with a certificate. Without TLS each bind that is held has one of its own. Defaults
	// to 10000.
	MaxConnections int32 `json:"maxConnections"`
	// TLS turns on https. Empty means plain http.
	TLS TLS `json:"tls"`
	// MaxBodyBytes is the largest request body that is read, in bytes; a larger one is
	// answered with status 413. Defaults to 67108864 (64 MiB).
	MaxBodyBytes int64 `json:"maxBodyBytes"`
	// MaxInFlightBytes is how much memory the bodies of all requests that are being answered may
	// take together, and what is decoded of them, in bytes; a request beyond it is answered with
	// status 503. A sixteenth is kept for bind. At least twice maxBodyBytes. 0 (default) stands
	// for 268435456 (256 MiB), or twice maxBodyBytes if that is more.
	MaxInFlightBytes int64 `json:"maxInFlightBytes"`
	// Profiling serves /debug/pprof/. Needs debug.enabled. Defaults to false.
	Profiling bool `json:"profiling"`
}

// Tracing sends traces to an OpenTelemetry collector, in the fields of kube-apiserver's
// TracingConfiguration.
type Tracing struct {
	// Endpoint is where the collector takes OTLP over gRPC in the clear, as in localhost:4317.
	// Empty (default) means that there are no traces.
	Endpoint string `json:"endpoint"`
	// SamplingRatePerMillion is of how many in a million attempts to schedule a pod there is a
	// trace. Defaults to 10000, one in a hundred.
	SamplingRatePerMillion int32 `json:"samplingRatePerMillion"`
}

// Debug is whether and where there is something to look at: the page at /, /metrics, /configz
// and what is under /debug/.
type Debug struct {
	// Enabled serves them. Without it, 'muster reschedule' serves nothing under /debug/ either, and
	// /metrics is at serving.healthListen alone. Defaults to true.
	Enabled bool `json:"enabled"`
	// Listen is the host:port to serve them at: over https if the verbs are, but on a loopback
	// address over plain http, for kubectl port-forward. Port 0 picks a free port. Defaults to
	// 127.0.0.1:8887. Required unless enabled is false.
	Listen string `json:"listen"`
	// AllowedHosts are names by which people call it, or 'muster reschedule', as through an ingress
	// or the API server's proxy. The address that it listens at and the names of loopback need not be
	// listed; other names are refused, since any site can have one mean this machine.
	AllowedHosts []string `json:"allowedHosts,omitempty"`
}

// TLS names the files of the server's identity, or has muster make one. Files are read again
// when they change, so that rotated certificates need no restart.
type TLS struct {
	// CertFile is the path of the PEM certificate chain. Set together with keyFile.
	CertFile string `json:"certFile,omitempty"`
	// KeyFile is the path of the PEM private key. Set together with certFile.
	KeyFile string `json:"keyFile,omitempty"`
	// ClientCAFile is the path of the PEM certificates that clients must be signed by.
	// Empty means that clients need no certificate, unless selfManaged.clientSecretName says so.
	// Needs certFile or selfManaged.
	ClientCAFile string `json:"clientCAFile,omitempty"`
	// AllowedClientNames are those who may call the verbs: a client's certificate must have one of
	// them as its common name, DNS name or URI. Needs clientCAFile or selfManaged.clientSecretName.
	// Defaults to system:kube-scheduler.
	AllowedClientNames []string `json:"allowedClientNames,omitempty"`
	// Webhook says who may call serving.webhookListen.
	Webhook WebhookTLS `json:"webhook,omitzero"`
	// SelfManaged has muster make its certificate, instead of certFile and keyFile.
	SelfManaged SelfManaged `json:"selfManaged,omitzero"`
}

// WebhookTLS says who may call serving.webhookListen. The API server shows a certificate if its
// AdmissionConfiguration says so.
type WebhookTLS struct {
	// ClientCAFile is the path of the PEM certificates that the API server's must be signed by.
	// Empty means that callers need none.
	ClientCAFile string `json:"clientCAFile,omitempty"`
	// AllowedClientNames are those who may call, as tls.allowedClientNames. Needs clientCAFile.
	// Empty means everybody whom clientCAFile has signed.
	AllowedClientNames []string `json:"allowedClientNames,omitempty"`
}

// SelfManaged has muster keep an authority of its own, and a certificate for the names and
// addresses of its Service, in a Secret whose ca.crt callers trust. Certificates are good for
// 90 days and authorities for ten years; both are renewed in time.
type SelfManaged struct {
	// SecretName names a Secret of type Opaque, which must be there; an empty one is filled in.
	// Set together with namespace.
	SecretName string `json:"secretName,omitempty"`
	// Namespace holds the Secrets and the Service.
	Namespace string `json:"namespace,omitempty"`
	// ServiceName names the Service through which muster is called. The certificate is for
	// 127.0.0.1 as well. Empty means that it is for loopback alone.
	ServiceName string `json:"serviceName,omitempty"`
	// ClientSecretName names another Secret of type Opaque, which must be there. muster keeps in it
	// what kube-scheduler calls with: tls.crt and tls.key, for the first of tls.allowedClientNames,
	// signed by a second authority, and ca.crt. Clients must then have a certificate of that
	// authority. Empty means that muster makes none.
	ClientSecretName string `json:"clientSecretName,omitempty"`
	// WebhookName names the MutatingWebhookConfiguration that calls the Service, for muster to
	// write its caBundle. Empty means that there is none.
	WebhookName string `json:"webhookName,omitempty"`
	// CAFile is the path to which ca.crt is written, for a kube-scheduler in the same pod. Empty
	// means that it is written nowhere.
	CAFile string `json:"caFile,omitempty"`
}

// Enabled says whether muster makes its certificate itself.
func (s SelfManaged) Enabled() bool { return s != SelfManaged{} }

// Enabled says whether muster serves https.
func (t TLS) Enabled() bool { return t.CertFile != "" || t.SelfManaged.Enabled() }

// AsksClients says whether callers of the verbs must have a certificate.
func (t TLS) AsksClients() bool { return t.ClientCAFile != "" || t.SelfManaged.ClientSecretName != "" }

// LeaderElection decides through a Lease which of several replicas is ready. One
// process must see every binding, so only the leader serves.
type LeaderElection struct {
	// LeaderElect turns leader election on. Defaults to false.
	LeaderElect bool `json:"leaderElect"`
	// LeaseDuration is how long a silent leader keeps the lease, in whole seconds. Defaults to 15s.
	LeaseDuration metav1.Duration `json:"leaseDuration"`
	// RenewDeadline is how long a leader acts after it began the last renewal that succeeded;
	// shorter than leaseDuration. What it sent last has the difference to arrive, which should
	// not be less than timeouts.filter. Defaults to 10s.
	RenewDeadline metav1.Duration `json:"renewDeadline"`
	// RetryPeriod is the pause between two attempts to take or renew the lease; shorter
	// than renewDeadline. Defaults to 2s.
	RetryPeriod metav1.Duration `json:"retryPeriod"`
	// ResourceName is the name of the Lease. Defaults to muster.
	ResourceName string `json:"resourceName"`
	// ResourceNamespace is the namespace of the Lease. Defaults to kube-system.
	ResourceNamespace string `json:"resourceNamespace"`
	// SchedulerLease is the namespace/name of the Lease of the kube-schedulers that run beside the replicas of muster, each
	// on the machine, or in the pod, of the muster that it calls. A replica runs for its own Lease only while its
	// kube-scheduler has that one, which it knows by the name of the host, and gives it up and ends, to stand by, when
	// another one leads. Empty means that any replica may lead, as where kube-scheduler calls muster over the network.
	// 'muster reschedule' does not go by it. Defaults to "".
	SchedulerLease string `json:"schedulerLease"`
}

// Timeouts bound how long muster lets things take.
type Timeouts struct {
	// Filter is the httpTimeout that kube-scheduler is given for filter, prioritize
	// and preempt. Scheduling stands still while one of them runs. Defaults to 5s.
	Filter metav1.Duration `json:"filter"`
	// Bind is the httpTimeout that kube-scheduler is given for bind. Defaults to 30s.
	Bind metav1.Duration `json:"bind"`
	// Assume is how long a pod counts as placed on its node while the watch neither
	// confirms nor refutes it. It does not run while the pod is nominated to that node, as
	// kube-scheduler nominates a pod before it waits for volumes or devices. Where
	// kube-scheduler does not (before 1.35), it should be longer than such waits
	// take. Defaults to 30s.
	Assume metav1.Duration `json:"assume"`
	// Shutdown is how long calls in flight may finish after muster was told to stop.
	// Defaults to 30s.
	Shutdown metav1.Duration `json:"shutdown"`
}

// VerdictStore bounds what is remembered about the pods of each profile.
type VerdictStore struct {
	// MaxBytes is how much memory the verdicts of one profile may take, in bytes. What
	// was used least recently is forgotten beyond it. Defaults to 268435456 (256 MiB).
	MaxBytes int64 `json:"maxBytes"`
}

// Nomination bounds what is nominated before kube-scheduler asks.
type Nomination struct {
	// MinSaving is how much sooner kube-scheduler must come to its next pod by a nomination for
	// pods to be nominated, of 20 that wait or more; muster measures it from call to call. Below that
	// the write costs more than it saves: kube-scheduler looks at few nodes, or is not what takes the
	// time. 0s nominates every pod, whatever that saves and however few wait; 1h nominates nobody.
	// Gated pods are placed in any case. Defaults to 4ms.
	MinSaving metav1.Duration `json:"minSaving"`
	// MaxAhead is how many pods may be nominated, or about to be, and not taken up by
	// kube-scheduler yet. Their room is kept. Defaults to 2000.
	MaxAhead int32 `json:"maxAhead"`
	// QPS is how many nominations are written a second in the long run, besides what
	// clientConnection allows. Defaults to 500.
	QPS float32 `json:"qps"`
}

// Ahead is how room is kept for pods that are gated until they have a place.
type Ahead struct {
	// Margin is the least time between the watch showing the last reservation of a gang and muster proving its
	// places once more and lifting the gates: kube-scheduler may act on an older view until then. There is no such
	// delay when no pod that waited when the room was kept still waits. Defaults to 250ms.
	Margin metav1.Duration `json:"margin"`
	// SchedulerLease is the namespace/name of the Lease by which kube-scheduler's replicas elect their leader. A new
	// one is told of all reservations again, which it does not know of. "" is for none: then it is told after a
	// minute. Defaults to kube-system/kube-scheduler.
	SchedulerLease string `json:"schedulerLease"`
}

// Gangs bounds how groups of pods are started together.
type Gangs struct {
	// ScheduleTimeout is how long a group may take from the moment that all who must start
	// together have a place until they are bound, unless its scheduleTimeoutSeconds says so.
	// Defaults to 60s.
	ScheduleTimeout metav1.Duration `json:"scheduleTimeout"`
	// MaxScheduleTimeout is the longest scheduleTimeoutSeconds that counts; a longer one is cut to it. A longer
	// timeout would let any author of a PodGroup keep nodes idle at will. Defaults to 10m.
	MaxScheduleTimeout metav1.Duration `json:"maxScheduleTimeout"`
	// MaxMembers is the largest minMember. A group that asks for more is not valid. Defaults to 10000.
	MaxMembers int32 `json:"maxMembers"`
	// MaxHoldingPerNamespace is how many groups of one namespace may have places before they start, so
	// that nobody keeps a cluster idle with groups that never do. 0 is no limit. Defaults to 200.
	MaxHoldingPerNamespace int32 `json:"maxHoldingPerNamespace"`
	// MaxGapPercent is how many percent of minMember may be without a place while the others keep theirs until the
	// time of the group is up; with more the group is denied at once. Defaults to 10.
	MaxGapPercent int32 `json:"maxGapPercent"`
	// DeniedTTL is how long the members of a group without a place are refused without a look. A
	// place that comes up is taken all the same. Defaults to 3s.
	DeniedTTL metav1.Duration `json:"deniedTTL"`
	// PreemptAfter is how long kube-scheduler has to ask whom to evict for a group without room before muster
	// looks for victims by itself: it does not ask where each member fits alone. 0 is never, for schedulers
	// that are to evict nobody. Defaults to 2s.
	PreemptAfter metav1.Duration `json:"preemptAfter"`
	// EvictWhole evicts all of a group that evictions for another group leave with fewer members than must
	// run together. Without EvictWhole, the members that are not in the way run on. Defaults to true.
	EvictWhole bool `json:"evictWhole"`
	// WhenShort says what becomes of members without a place, beyond minMember, of a gang that has started, in
	// profiles with gates: UntilPlace: Finish (default), Wait or Break.
	WhenShort WhenShort `json:"whenShort"`
	// BreakAfter is how long after its start fewer members of a gang may be bound than must run together before those
	// are evicted, with whenShort: Break. Large gangs take a while to be bound. Defaults to 5m.
	BreakAfter metav1.Duration `json:"breakAfter"`
	// Kinds are the controllers of others whose pods start together though no label or annotation of muster's says so.
	// Defaults to the ones that exist to start pods together, and to Jobs that ask for it. [] is none.
	Kinds []GangKind `json:"kinds"`
}

// WhenShort says what becomes of members without a place of a gang that has started.
type WhenShort string

const (
	// WhenShortFinish leaves them to kube-scheduler, which may evict others for them, and to autoscalers.
	WhenShortFinish WhenShort = "Finish"
	// WhenShortWait keeps them gated until muster finds a place for them.
	WhenShortWait WhenShort = "Wait"
	// WhenShortBreak does so too. A gang that has started and stays below minMember is evicted after breakAfter, so that
	// it waits whole.
	WhenShortBreak WhenShort = "Break"
)
