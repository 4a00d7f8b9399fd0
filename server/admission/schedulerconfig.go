package admission

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/scheduling/v1alpha1"
)

// extenderWeight multiplies what muster answers to prioritize. It is the same for all profiles, whose own weights are
// in the answer.
const extenderWeight = 1

// NamePath is where the verbs are for kube-scheduler. It says to whom a call goes in the event of a pod that nobody answers for, as in
// Post "http://127.0.0.1:8888/muster/filter".
const NamePath = "/muster"

// RegisteredPath is where the verbs are, below NamePath, for a kube-scheduler that was told what profiles ask of it; the
// [Registration] and the verb follow.
const RegisteredPath = "/registered/"

const schedulerConfigHeader = `# Registers muster as the extender of kube-scheduler. Printed by 'muster scheduler-config'.
# There are two entries, because kube-scheduler has one timeout for all verbs of an entry.
`

// SchedulerOptions say how a kube-scheduler is to use muster, by the flags of 'muster scheduler-config'.
type SchedulerOptions struct {
	// URL at which kube-scheduler reaches muster, "" for the one that serving.listen implies.
	URL string
	// Kubeconfig is kube-scheduler's, "" for its in-cluster credentials.
	Kubeconfig  string
	LeaderElect bool
	// PercentageOfNodes is how many percent of the nodes must fit for kube-scheduler to stop looking for more. 0 leaves the
	// choice to muster, by profile: as few as possible where [fewWillDo], else kube-scheduler's default. -1 is that default
	// for all profiles.
	PercentageOfNodes int32
	// Offload has all profiles of muster be as with nodeSelection: Muster and offload: true.
	Offload bool
	// NoPreemption has kube-scheduler evict no pods where it offloads.
	NoPreemption bool
	// Managed has kube-scheduler ask only about pods that ask for muster's resources.
	Managed bool
	// Ignorable has kube-scheduler bind pods without muster while muster is away.
	Ignorable bool
	// CAFile, CertFile and KeyFile are those on the machine of kube-scheduler, for https.
	CAFile, CertFile, KeyFile string
}

// Scheduler is a configuration of kube-scheduler.
type Scheduler struct {
	config  *schedulerv1.KubeSchedulerConfiguration
	comment string
}

// For is the configuration for a muster of a configuration, in which Offload sets offload. kube-scheduler
// completes it with its own defaults. An error names the flag that does not suit.
func (o *SchedulerOptions) For(cfg *config.Configuration) (*Scheduler, error) {
	if o.Offload {
		if err := offloadAll(cfg); err != nil {
			return nil, err
		}
	}
	if err := o.checkOffload(cfg.Profiles); err != nil {
		return nil, err
	}
	extender, err := o.extender(cfg)
	if err != nil {
		return nil, err
	}
	choosing, binding := extender, extender
	choosing.FilterVerb, choosing.PreemptVerb = "filter", "preempt"
	if slices.ContainsFunc(cfg.Profiles, func(p config.Profile) bool { return prioritizes(&p) }) {
		choosing.PrioritizeVerb, choosing.Weight = "prioritize", extenderWeight
	}
	choosing.HTTPTimeout = cfg.Timeouts.Filter
	binding.BindVerb = "bind"
	binding.HTTPTimeout = cfg.Timeouts.Bind
	choosing.Ignorable, binding.Ignorable = o.Ignorable, o.Ignorable
	if o.Managed {
		choosing.ManagedResources = costless(v1alpha1.ResourceManaged)
		binding.ManagedResources = costless(v1alpha1.ResourceBound)
	}

	scheduler := &schedulerv1.KubeSchedulerConfiguration{
		TypeMeta:  metav1.TypeMeta{APIVersion: schedulerv1.SchemeGroupVersion.String(), Kind: "KubeSchedulerConfiguration"},
		Extenders: []schedulerv1.Extender{choosing, binding},
	}
	scheduler.ClientConnection.Kubeconfig = o.Kubeconfig
	scheduler.ClientConnection.QPS = cfg.ClientConnection.QPS
	scheduler.ClientConnection.Burst = cfg.ClientConnection.Burst()
	scheduler.LeaderElection.LeaderElect = &o.LeaderElect
	if o.PercentageOfNodes < -1 || o.PercentageOfNodes > 100 {
		return nil, fmt.Errorf("--percentage-of-nodes-to-score: %d is not between -1 and 100", o.PercentageOfNodes)
	}
	scheduler.PercentageOfNodesToScore = new(max(o.PercentageOfNodes, 0))
	comment := offloadComment(cfg.Profiles, !o.NoPreemption)
	for i := range cfg.Profiles {
		profile, err := o.profile(&cfg.Profiles[i])
		if err != nil {
			return nil, err
		}
		scheduler.Profiles = append(scheduler.Profiles, profile)
	}
	if slices.ContainsFunc(cfg.Profiles, func(p config.Profile) bool { return o.takesFew(&p) }) {
		comment = fewHeader + comment
	}
	return &Scheduler{scheduler, comment}, nil
}

// profile is kube-scheduler's for one of muster's.
func (o *SchedulerOptions) profile(from *config.Profile) (schedulerv1.KubeSchedulerProfile, error) {
	to := schedulerv1.KubeSchedulerProfile{SchedulerName: &from.SchedulerName}
	if err := mirror(&to, from, !o.NoPreemption); err != nil {
		return to, err
	}
	switch {
	case from.Offload:
		to.PercentageOfNodesToScore = new(int32(100))
		if o.NoPreemption {
			to.Plugins.PostFilter.Disabled = []schedulerv1.Plugin{{Name: defaultPreemption}}
		}
	case o.takesFew(from):
		to.PercentageOfNodesToScore = new(int32(leastPercentage))
	}
	return to, nil
}

// takesFew says that kube-scheduler looks for as few nodes as it does for pods of a profile.
func (o *SchedulerOptions) takesFew(profile *config.Profile) bool {
	return !profile.Offload && o.PercentageOfNodes == 0 && !o.Managed && fewWillDo(profile)
}

// leastPercentage has kube-scheduler look for as few nodes that fit as it does: 100, or 1 % of more than 10,000
// (numFeasibleNodesToFind in pkg/scheduler/schedule_one.go).
const leastPercentage = 1

const fewHeader = `#
# percentageOfNodesToScore: kube-scheduler looks for 100 nodes that fit, or 1 % of more than 10,000,
# and not for 500 of 5,000: muster ranks them all. --percentage-of-nodes-to-score says otherwise.
`

// fewWillDo reports whether the best of few nodes is good enough for a profile: muster refuses none of them for reasons
// that kube-scheduler has not looked at, and pods are not to be packed. Packing rates all nodes but the fullest as
// equally wrong.
func fewWillDo(profile *config.Profile) bool {
	inTree := !slices.ContainsFunc(profile.FilterPlugins(), func(name string) bool {
		plugin, _ := config.FindPlugin(name)
		return !plugin.InTree
	})
	return inTree && profile.NodeResourcesFitArgs().ScoringStrategy.Type == config.LeastAllocated
}

// checkOffload says which flags do not suit what kube-scheduler leaves to muster.
func (o *SchedulerOptions) checkOffload(profiles []config.Profile) error {
	offloads := slices.ContainsFunc(profiles, func(p config.Profile) bool { return p.Offload })
	switch {
	case o.NoPreemption && !offloads:
		return errors.New("--no-preemption: no profile of muster has offload: true, and --offload is not set")
	case o.Managed && offloads:
		return errors.New(
			"--managed: a profile of muster has offload: true, and pods that kube-scheduler does not ask about would be held to room alone",
		)
	case o.Ignorable && offloads:
		return errors.New("--ignorable: a profile of muster has offload: true, and pods would be held to room alone while muster is away")
	}
	return nil
}

// costless is a resource that an entry manages: kube-scheduler does not look for nodes that offer it.
func costless(name corev1.ResourceName) []schedulerv1.ExtenderManagedResource {
	return []schedulerv1.ExtenderManagedResource{{Name: string(name), IgnoredByScheduler: true}}
}

// extender returns what the two entries have in common.
func (o *SchedulerOptions) extender(cfg *config.Configuration) (schedulerv1.Extender, error) {
	extender, serving := schedulerv1.Extender{NodeCacheCapable: true}, cfg.Serving
	prefix, err := o.urlPrefix(serving)
	if err != nil {
		return extender, fmt.Errorf("--url: %w", err)
	}
	extender.URLPrefix = strings.TrimRight(prefix.String(), "/") + NamePath
	registration, err := Registration(cfg.Profiles)
	if err != nil {
		return extender, err
	}
	if registration != "" {
		extender.URLPrefix += RegisteredPath + registration
	}
	if prefix.Scheme == "http" {
		if o.CAFile != "" || o.CertFile != "" || o.KeyFile != "" {
			return extender, fmt.Errorf("--ca-file, --cert-file and --key-file need an https URL, not %s", prefix)
		}
		return extender, nil
	}
	switch {
	case o.CAFile == "":
		return extender, fmt.Errorf("--ca-file is required with %s: kube-scheduler verifies no certificate without it", prefix)
	case (o.CertFile == "") != (o.KeyFile == ""):
		return extender, errors.New("--cert-file and --key-file belong together")
	case serving.TLS.AsksClients() && o.CertFile == "":
		return extender, fmt.Errorf(
			"--cert-file and --key-file are required: by serving.tls muster refuses clients without a certificate for one of %q",
			serving.TLS.AllowedClientNames,
		)
	}
	extender.EnableHTTPS = true
	extender.TLSConfig = &schedulerv1.ExtenderTLSConfig{CAFile: o.CAFile, CertFile: o.CertFile, KeyFile: o.KeyFile}
	return extender, nil
}

// urlPrefix returns the URL that was asked for, or the one that serving implies.
func (o *SchedulerOptions) urlPrefix(serving config.Serving) (*url.URL, error) {
	if o.URL == "" {
		return servingURL(serving)
	}
	if !strings.HasPrefix(o.URL, "http://") && !strings.HasPrefix(o.URL, "https://") {
		return nil, fmt.Errorf("%q must begin with http:// or https://", o.URL)
	}
	prefix, err := url.Parse(o.URL)
	switch {
	case err != nil:
		return nil, err
	case prefix.Hostname() == "":
		return nil, fmt.Errorf("%q names no host", o.URL)
	case prefix.User != nil || prefix.RawQuery != "" || prefix.Fragment != "":
		return nil, fmt.Errorf("%q must have no user, query or fragment: kube-scheduler appends the verb to it", prefix.Redacted())
	case prefix.Scheme == "http" && serving.TLS.Enabled():
		return nil, fmt.Errorf("%q must begin with https://, as serving.tls is configured", o.URL)
	}
	return prefix, nil
}

func servingURL(serving config.Serving) (*url.URL, error) {
	host, port, err := net.SplitHostPort(serving.Listen)
	if err != nil {
		return nil, fmt.Errorf("serving.listen: %w", err)
	}
	if port == "0" {
		return nil, fmt.Errorf("must be given, as serving.listen %q picks a free port", serving.Listen)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	scheme := "http"
	if serving.TLS.Enabled() {
		scheme = "https"
	}
	return &url.URL{Scheme: scheme, Host: net.JoinHostPort(host, port)}, nil
}

// Encode writes the fields that are set, as YAML below a comment.
func (s *Scheduler) Encode() ([]byte, error) {
	data, err := json.Marshal(s.config)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, err
	}
	dropUnset(fields)
	document, err := yaml.Marshal(fields)
	return slices.Concat([]byte(schedulerConfigHeader), []byte(s.comment), document), err
}

// dropUnset removes what kube-scheduler takes as absent, but its types print: empty
// strings, zero numbers and durations, and mappings of nothing else. Booleans stay, as
// kube-scheduler has defaults that are true.
func dropUnset(fields map[string]any) {
	for name, value := range fields {
		switch value := value.(type) {
		case []any:
			for _, element := range value {
				if element, ok := element.(map[string]any); ok {
					dropUnset(element)
				}
			}
		case map[string]any:
			if dropUnset(value); len(value) == 0 {
				delete(fields, name)
			}
		case nil:
			delete(fields, name)
		case string:
			if value == "" || value == "0s" {
				delete(fields, name)
			}
		case float64:
			if value == 0 {
				delete(fields, name)
			}
		}
	}
}
