package config

import (
	"cmp"
	"net"
	"net/netip"
	"time"

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
	// Nomination bounds what is nominated before kube-scheduler asks, for profiles with
	// nodeSelection: Muster.
	Nomination Nomination `json:"nomination"`
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
	// QPS is how many requests a second are sent to the API server in the long run; twice that number
	// may be sent at once. Every binding is one request, and so is every nomination, which are counted
	// apart. Raise it when pods wait for bindings and the API server has room; lower it when muster takes
	// too much of a small one. Defaults to 500.
	QPS float32 `json:"qps"`
}

// Burst returns how many requests may be sent at once before QPS holds them back: the requests of two
// seconds, by which a wave of pods that come together is bound without a wait.
func (c ClientConnection) Burst() int32 { return int32(min(max(2*c.QPS, 1), 1<<30)) }

// Serving is where and how the extender's verbs are served.
type Serving struct {
	// Listen is the host:port of the verbs, and of /livez, /readyz and /version. Port 0 picks a free port. Change it
	// when kube-scheduler runs elsewhere. Defaults to 127.0.0.1:8888, which only a kube-scheduler in the same pod or
	// on the same host can reach. On a loopback address it answers to loopback names and addresses alone.
	Listen string `json:"listen"`
	// HealthListen is a second host:port, on which only /livez, /readyz and /metrics are
	// served, over plain http: for a kubelet and a Prometheus that cannot reach listen or
	// debug.listen, or have no certificate for it. Defaults to "", which is none.
	HealthListen string `json:"healthListen"`
	// WebhookListen is the host:port of /webhook/gates and /webhook/scheduler/NAME, over https with the certificate of tls,
	// which it needs: the API server asks there who is to be gated, and who gets a schedulerName. Both need it where
	// Kubernetes is older than 1.36. Defaults to "", with which the policies that 'muster gate-policy' prints gate pods.
	WebhookListen string `json:"webhookListen"`
	// TLS turns on https. Empty means plain http.
	TLS TLS `json:"tls"`
}

// Called reports whether others than this host may call the verbs or the webhook.
func (s Serving) Called() bool {
	host, _, _ := net.SplitHostPort(s.Listen)
	at, err := netip.ParseAddr(host)
	return s.WebhookListen != "" || host != "localhost" && (err != nil || !at.IsLoopback())
}

// Tracing sends traces to an OpenTelemetry collector, in the fields of kube-apiserver's
// TracingConfiguration.
type Tracing struct {
	// Endpoint is where the collector takes OTLP over gRPC in the clear, as in localhost:4317.
	// Empty (default) means that there are no traces.
	Endpoint string `json:"endpoint"`
	// SamplingRatePerMillion is of how many in a million attempts to schedule a pod there is a trace. Raise it while
	// you look for the cause of slow attempts; lower it when the collector cannot keep up. Defaults to 10000, one in a
	// hundred.
	SamplingRatePerMillion int32 `json:"samplingRatePerMillion"`
}

// Debug is whether and where there is something to look at: the page at /, /metrics, /configz
// and what is under /debug/.
type Debug struct {
	// Listen is the host:port to serve them at: over https if the verbs are, but on a loopback
	// address over plain http, for kubectl port-forward. Port 0 picks a free port. "" serves them
	// nowhere: then 'muster reschedule' serves nothing under /debug/ either, and /metrics is at
	// serving.healthListen alone. Change it when people or a Prometheus are to come from elsewhere.
	// Profiles of the process (/debug/pprof/) are for callers on this host alone. Defaults to
	// 127.0.0.1:8887.
	Listen string `json:"listen"`
	// AllowedHosts are names by which people call it, or 'muster reschedule', as through an ingress
	// or the API server's proxy. The address that it listens at and the names of loopback need not be
	// listed; other names are refused, since any site can have one mean this machine.
	AllowedHosts []string `json:"allowedHosts,omitempty"`
}

// Enabled reports whether there is anything to look at.
func (d Debug) Enabled() bool { return d.Listen != "" }

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
// 90 days and authorities for ten years; both are renewed in time. Secrets and Service are in
// leaderElection.resourceNamespace. The Service, through which muster is called unless it listens on
// loopback alone, has the name leaderElection.resourceName, and so has the MutatingWebhookConfiguration
// whose caBundle muster writes where there is a serving.webhookListen.
type SelfManaged struct {
	// SecretName names a Secret of type Opaque, which must be there; an empty one is filled in.
	SecretName string `json:"secretName,omitempty"`
	// ClientSecretName names another Secret of type Opaque, which must be there. muster keeps in it
	// what kube-scheduler calls with: tls.crt and tls.key, for the first of tls.allowedClientNames,
	// signed by a second authority, and ca.crt. Clients must then have a certificate of that
	// authority. Empty means that muster makes none.
	ClientSecretName string `json:"clientSecretName,omitempty"`
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
	// LeaderElect turns leader election on. Turn it on where there is more than one replica, also while one takes the
	// place of another. Defaults to false.
	LeaderElect bool `json:"leaderElect"`
	// LeaseDuration is how long a silent leader keeps the lease, in whole seconds. A leader acts for two thirds of it
	// after it began the last renewal that succeeded; what it sent last has the last third to arrive, which should not
	// be less than timeouts.filter. Raise it when the API server is away for longer, at times, than muster is to go on
	// without it; lower it when another replica is to take over sooner. On Linux a leader that was killed, and starts
	// again in its network namespace, as a container of a pod does, takes over from itself after a second. Defaults to 15s.
	LeaseDuration metav1.Duration `json:"leaseDuration"`
	// ResourceName is the name of the Lease. Change it when two musters with profiles of their own share a namespace.
	// Defaults to muster.
	ResourceName string `json:"resourceName"`
	// ResourceNamespace is the namespace of the Lease. Change it when muster may write in another namespace alone.
	// Defaults to kube-system.
	ResourceNamespace string `json:"resourceNamespace"`
	// SchedulerLease is the namespace/name of the Lease of the kube-schedulers that run beside the replicas of muster, each
	// on the machine, or in the pod, of the muster that it calls. A replica runs for its own Lease only while its
	// kube-scheduler has that one, which it knows by the name of the host, and gives it up and ends, to stand by, when
	// another one leads. Empty means that any replica may lead, as where kube-scheduler calls muster over the network.
	// 'muster reschedule' does not go by it. A kube-scheduler that begins to lead by it, or by kube-system/kube-scheduler
	// where it is empty, is told at once of all room that is kept for gated pods, which it does not know of; one with
	// another Lease is told within a minute. Defaults to "".
	SchedulerLease string `json:"schedulerLease"`
}

// Scheduler returns the namespace/name of the Lease by which kube-scheduler's replicas elect their leader: what
// kube-scheduler calls it by default, unless the one beside muster has another.
func (l LeaderElection) Scheduler() string {
	return cmp.Or(l.SchedulerLease, metav1.NamespaceSystem+"/kube-scheduler")
}

// RenewDeadline returns how long a leader acts after it began the last renewal that succeeded: two thirds of the lease,
// as in Kubernetes' own components.
func (l LeaderElection) RenewDeadline() time.Duration { return l.LeaseDuration.Duration * 2 / 3 }

// RetryPeriod returns the pause between two attempts to take or renew the lease: 2s as in Kubernetes' own components,
// and five in the time of a renewal where that is short.
func (l LeaderElection) RetryPeriod() time.Duration { return min(2*time.Second, l.RenewDeadline()/5) }

// Timeouts bound how long muster lets things take.
type Timeouts struct {
	// Filter is the httpTimeout that kube-scheduler is given for filter, prioritize
	// and preempt. Scheduling stands still while one of them runs. Raise it when calls are cut off on
	// a slow machine; write what kube-scheduler's configuration says. Defaults to 5s.
	Filter metav1.Duration `json:"filter"`
	// Bind is the httpTimeout that kube-scheduler is given for bind, how long calls in flight may finish after
	// muster was told to stop, as a bind call is the longest, and how long a pod that muster has placed counts on
	// its node while the watch says nothing of it. Write what kube-scheduler's configuration says. Defaults to 30s.
	Bind metav1.Duration `json:"bind"`
}

// Assume returns how long a pod counts as placed on its node while the watch neither confirms nor refutes it: as long as
// a bind call may take, and 30s at least. It does not run while the pod is nominated to that node, as kube-scheduler
// nominates a pod before it waits for volumes or devices.
func (t Timeouts) Assume() time.Duration { return max(t.Bind.Duration, 30*time.Second) }

// Shutdown returns how long calls in flight may finish after muster was told to stop: as long as the longest of them.
func (t Timeouts) Shutdown() time.Duration { return t.Bind.Duration }

// Nomination bounds what is nominated before kube-scheduler asks.
type Nomination struct {
	// MinSaving is how much sooner kube-scheduler must come to its next pod by a nomination for
	// pods to be nominated, of 20 that wait or more; muster measures it from call to call. Below that
	// the write costs more than it saves: kube-scheduler looks at few nodes, or is not what takes the
	// time. 0s nominates every pod, whatever that saves and however few wait; 1h nominates nobody.
	// Gated pods are placed in any case. Change it to one of these two where nominations are to be certain, as in a
	// benchmark, or are not wanted. Defaults to 4ms.
	MinSaving metav1.Duration `json:"minSaving"`
}

// Gangs bounds how groups of pods are started together.
type Gangs struct {
	// ScheduleTimeout is how long a group may take from the moment that all who must start
	// together have a place until they are bound, unless its scheduleTimeoutSeconds says so: ten times as long at
	// most, as a longer one would let any author of a PodGroup keep nodes idle at will. Raise it when volumes,
	// devices or autoscalers take longer. Defaults to 60s.
	ScheduleTimeout metav1.Duration `json:"scheduleTimeout"`
	// MaxHoldingPerNamespace is how many groups of one namespace may have places before they start, so that nobody
	// keeps a cluster idle with groups that never do. 0 is no limit. Lower it when tenants share a small cluster;
	// raise it when one namespace starts more gangs at a time. Defaults to 200.
	MaxHoldingPerNamespace int32 `json:"maxHoldingPerNamespace"`
	// ReserveAfter is how long the first gang, by priority and then by age, waits before room in time is booked for it: pods
	// of no higher priority stay off the nodes that it is to have, unless they end before it can start or fit beside it.
	// Pods are expected to end by activeDeadlineSeconds, the annotation muster.dev/expected-runtime, or as former pods of their
	// workload have ended. A profile may say another time, and a group a longer one. Set it where large gangs wait for long behind
	// small pods. Defaults to 0s, which books none.
	ReserveAfter metav1.Duration `json:"reserveAfter"`
	// ReserveMaxIdlePercent is how many percent of the cluster bookings for the groups of one namespace may keep idle on average over an
	// hour or so. Then it gets none until the average is down to half. 0 is no limit. Lower it when tenants share a cluster; raise it
	// when large gangs need hours until room has fallen free for them. Defaults to 20.
	ReserveMaxIdlePercent int32 `json:"reserveMaxIdlePercent"`
	// Evict says who is evicted for a group without room, of pods with a lower priority: Whole (default), Members or
	// Never. Change it when members of gangs are of use alone, or when no pod is to be evicted for another one.
	Evict Evict `json:"evict"`
	// WhenShort says what becomes of members without a place, beyond minMember, of a gang that has started, in
	// profiles with gates: UntilPlace: Finish (default), Wait or Break. Change it when members that run alone only
	// waste room.
	WhenShort WhenShort `json:"whenShort"`
	// Kinds are the controllers of others whose pods start together though no label or annotation of muster's says so.
	// Defaults to the ones that exist to start pods together, and to Jobs that ask for it. [] is none.
	Kinds []GangKind `json:"kinds"`
}

// MaxScheduleTimeout returns the longest scheduleTimeoutSeconds that counts.
func (g Gangs) MaxScheduleTimeout() time.Duration { return 10 * g.ScheduleTimeout.Duration }

// BreakAfter returns how long after its start fewer members of a gang may be bound than must run together, with
// whenShort: Break. A gang is bound in scheduleTimeout in good order; five times that is far from it.
func (g Gangs) BreakAfter() time.Duration { return 5 * g.ScheduleTimeout.Duration }

// Evict says who is evicted for a group without room.
type Evict string

const (
	// EvictWhole lets muster look for victims by itself where kube-scheduler does not ask for them: it does not where
	// each member fits alone. Of a group that evictions leave with fewer members than must run together, all are evicted.
	EvictWhole Evict = "Whole"
	// EvictMembers does so too, and members that are not in the way run on.
	EvictMembers Evict = "Members"
	// EvictNever has nobody evicted for a gang that has not started, whether kube-scheduler asks or not.
	EvictNever Evict = "Never"
)

// WhenShort says what becomes of members without a place of a gang that has started.
type WhenShort string

const (
	// WhenShortFinish leaves them to kube-scheduler, which may evict others for them, and to autoscalers.
	WhenShortFinish WhenShort = "Finish"
	// WhenShortWait keeps them gated until muster finds a place for them.
	WhenShortWait WhenShort = "Wait"
	// WhenShortBreak does so too. A gang that has started and stays below minMember is evicted after five times
	// scheduleTimeout, so that it waits whole.
	WhenShortBreak WhenShort = "Break"
)
