package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/api/config/v1alpha2"
	"muster.dev/muster/api/scheduling/v1alpha1"
)

// extenderWeight multiplies muster's scores, 0 to 10, before kube-scheduler multiplies
// them by 10 once more and adds them to those of its own plugins, 0 to 100 each.
const extenderWeight = 1

const schedulerConfigHeader = `# Registers muster as the extender of kube-scheduler. Printed by 'muster scheduler-config'.
# There are two entries, because kube-scheduler has one timeout for all verbs of an entry.
`

func newSchedulerConfigCommand() *cobra.Command {
	var flags schedulerConfigFlags
	cmd := &cobra.Command{
		Use:   "scheduler-config",
		Short: "Print the kube-scheduler configuration that registers muster",
		Long: `scheduler-config prints a complete KubeSchedulerConfiguration: a scheduler profile
for each profile of muster, and muster as the extender of them all.

muster is entered twice under one URL, because kube-scheduler has one timeout for
all verbs of an entry. Filter, prioritize and preempt stop all scheduling while
they run and get the short timeouts.filter; bind runs beside and gets the long
timeouts.bind. Neither entry is ignorable: kube-scheduler would bind the pods
itself while muster is away, which is what --ignorable asks for.

With --managed kube-scheduler asks muster only about pods that ask for the resources
muster.dev/managed and muster.dev/bound, which cost nothing and which the policy of
'muster managed-policy' adds. The outage of a muster stops no other pods.

With offload, in a profile of the configuration or by --offload in all of them,
kube-scheduler leaves to muster the plugins that muster runs in that profile: they
are disabled where it would run them a second time, which is most of its work for
pods with affinity or spread constraints. NodeResourcesFit stays on as a filter, as
preemption needs it, and every node with room is offered to muster. Where no pod is to
be evicted for another one, --no-preemption turns that off as well. muster must run with
'offload: true' in the same profiles.

The URL follows from the serving section of the configuration, which suits a
kube-scheduler in the same pod or on the same host. With https, --ca-file is
required: kube-scheduler verifies no certificate without it. The paths of files are
those on the machine of kube-scheduler; they are not read here.

Flags of 'muster serve' that are deprecated mean the same here, so that both have the
same profile.`,
		Example: `  # For a kube-scheduler and a muster on this host.
  muster scheduler-config --kubeconfig ~/.kube/config > scheduler.yaml
  kube-scheduler --config scheduler.yaml

  # A muster that runs elsewhere, with TLS; every node is offered to it.
  muster scheduler-config --config muster.yaml --url https://muster.kube-system.svc:8888 \
    --ca-file /etc/kubernetes/muster/ca.crt --percentage-of-nodes-to-score 100

  # What changes when the predicates are left to muster.
  diff <(muster scheduler-config) <(muster scheduler-config --offload)`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, warnings, err := flags.deprecated.load(cmd, flags.config, func(flag, why string) {
				fmt.Fprintf(cmd.ErrOrStderr(), "muster: warning: %s: %s\n", flag, why)
			})
			if err != nil {
				return err
			}
			for _, warning := range warnings {
				fmt.Fprintf(cmd.ErrOrStderr(), "muster: warning: %s\n", warning)
			}
			scheduler, err := flags.schedulerConfig(config)
			if err != nil {
				return &usageError{command: cmd.CommandPath(), err: err}
			}
			document, err := encodeSchedulerConfig(scheduler, offloadComment(config.Profiles, !flags.noPreemption))
			if err != nil {
				return fmt.Errorf("encode the scheduler's configuration: %w", err)
			}
			return flags.write(cmd.OutOrStdout(), document)
		},
	}
	flags.register(cmd.Flags())
	return cmd
}

type schedulerConfigFlags struct {
	config            string
	output            string
	url               string
	kubeconfig        string
	leaderElect       bool
	percentageOfNodes int32
	offload           bool
	noPreemption      bool
	managed           bool
	ignorable         bool
	caFile            string
	certFile          string
	keyFile           string
	deprecated        deprecatedFlags
}

func (f *schedulerConfigFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.config, "config", "", "muster's configuration `FILE` (default: what 'muster config default' prints)")
	flags.StringVarP(&f.output, "output", "o", "", "`FILE` to write to, for images without a shell (default: standard output)")
	flags.StringVar(&f.url, "url", "", "`URL` at which kube-scheduler reaches muster (default: from serving.listen, http://127.0.0.1:8888)")
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig `FILE` of kube-scheduler (default: its in-cluster credentials)")
	flags.BoolVar(&f.leaderElect, "leader-elect", false, "let several kube-schedulers elect a leader")
	flags.Int32Var(
		&f.percentageOfNodes,
		"percentage-of-nodes-to-score",
		0,
		"`PERCENT` of the nodes after which kube-scheduler stops looking for more that fit, 100 for all nodes (default: kube-scheduler's "+
			"choice, by the size of the cluster). Always 100 for profiles with offload",
	)
	flags.BoolVar(&f.offload, "offload", false, "print as if every profile of muster had offload: true")
	flags.BoolVar(
		&f.noPreemption,
		"no-preemption",
		false,
		"with offload, let kube-scheduler evict no pods: then it leaves NodeResourcesFit to muster as well, and does about half the work for a "+
			"pod",
	)
	flags.BoolVar(
		&f.managed, "managed", false,
		"have kube-scheduler ask muster only about pods that ask for muster.dev/managed and muster.dev/bound; see 'muster managed-policy'",
	)
	flags.BoolVar(&f.ignorable, "ignorable", false, "have kube-scheduler bind pods without muster while muster is away")
	flags.StringVar(&f.caFile, "ca-file", "", "`FILE` of the certificates that muster's certificate must be signed by; required with https")
	flags.StringVar(
		&f.certFile,
		"cert-file",
		"",
		"`FILE` of the certificate that kube-scheduler shows to muster, for a name of serving.tls.allowedClientNames; required with "+
			"serving.tls.clientCAFile or selfManaged.clientSecretName",
	)
	flags.StringVar(&f.keyFile, "key-file", "", "`FILE` of the key of --cert-file")
	f.deprecated.register(flags)
}

// write writes the document to where it was asked for.
func (f *schedulerConfigFlags) write(stdout io.Writer, document []byte) error {
	if f.output == "" {
		_, err := stdout.Write(document)
		return err
	}
	return os.WriteFile(f.output, document, 0o644) //nolint:gosec // kube-scheduler reads it as another user, and it holds no secret
}

// schedulerConfig returns a configuration that kube-scheduler completes with its own
// defaults.
func (f *schedulerConfigFlags) schedulerConfig(config *v1alpha2.MusterConfiguration) (*schedulerv1.KubeSchedulerConfiguration, error) {
	if f.offload {
		if err := offloadAll(config); err != nil {
			return nil, err
		}
	}
	if err := f.checkOffload(config.Profiles); err != nil {
		return nil, err
	}
	extender, err := f.extender(config.Serving)
	if err != nil {
		return nil, err
	}
	choosing, binding := extender, extender
	choosing.FilterVerb, choosing.PreemptVerb = "filter", "preempt"
	if slices.ContainsFunc(config.Profiles, prioritizes) {
		choosing.PrioritizeVerb, choosing.Weight = "prioritize", extenderWeight
	}
	choosing.HTTPTimeout = config.Timeouts.Filter
	binding.BindVerb = "bind"
	binding.HTTPTimeout = config.Timeouts.Bind
	choosing.Ignorable, binding.Ignorable = f.ignorable, f.ignorable
	if f.managed {
		choosing.ManagedResources = costless(v1alpha1.ResourceManaged)
		binding.ManagedResources = costless(v1alpha1.ResourceBound)
	}

	scheduler := &schedulerv1.KubeSchedulerConfiguration{
		TypeMeta:  metav1.TypeMeta{APIVersion: schedulerv1.SchemeGroupVersion.String(), Kind: "KubeSchedulerConfiguration"},
		Extenders: []schedulerv1.Extender{choosing, binding},
	}
	scheduler.ClientConnection.Kubeconfig = f.kubeconfig
	scheduler.ClientConnection.QPS = config.ClientConnection.QPS
	scheduler.ClientConnection.Burst = config.ClientConnection.Burst
	scheduler.LeaderElection.LeaderElect = &f.leaderElect
	if f.percentageOfNodes < 0 || f.percentageOfNodes > 100 {
		return nil, fmt.Errorf("--percentage-of-nodes-to-score: %d is not between 0 and 100", f.percentageOfNodes)
	}
	scheduler.PercentageOfNodesToScore = &f.percentageOfNodes
	scheduler.Profiles = make([]schedulerv1.KubeSchedulerProfile, len(config.Profiles))
	for i := range config.Profiles {
		profile := &config.Profiles[i]
		scheduler.Profiles[i].SchedulerName = &profile.SchedulerName
		if profile.Offload {
			offload(&scheduler.Profiles[i], profile, !f.noPreemption)
		}
	}
	return scheduler, nil
}

// checkOffload says which flags do not suit what kube-scheduler leaves to muster.
func (f *schedulerConfigFlags) checkOffload(profiles []v1alpha2.Profile) error {
	offloads := slices.ContainsFunc(profiles, func(p v1alpha2.Profile) bool { return p.Offload })
	switch {
	case f.noPreemption && !offloads:
		return errors.New("--no-preemption: no profile of muster has offload: true, and --offload is not set")
	case f.managed && offloads:
		return errors.New(
			"--managed: a profile of muster has offload: true, and pods that kube-scheduler does not ask about would be held to room alone",
		)
	case f.ignorable && offloads:
		return errors.New("--ignorable: a profile of muster has offload: true, and pods would be held to room alone while muster is away")
	}
	return nil
}

// costless is a resource that an entry manages: kube-scheduler does not look for nodes that offer it.
func costless(name corev1.ResourceName) []schedulerv1.ExtenderManagedResource {
	return []schedulerv1.ExtenderManagedResource{{Name: string(name), IgnoredByScheduler: true}}
}

// extender returns what the two entries have in common.
func (f *schedulerConfigFlags) extender(serving v1alpha2.Serving) (schedulerv1.Extender, error) {
	extender := schedulerv1.Extender{NodeCacheCapable: true}
	prefix, err := f.urlPrefix(serving)
	if err != nil {
		return extender, fmt.Errorf("--url: %w", err)
	}
	extender.URLPrefix = strings.TrimRight(prefix.String(), "/")
	if prefix.Scheme == "http" {
		if f.caFile != "" || f.certFile != "" || f.keyFile != "" {
			return extender, fmt.Errorf("--ca-file, --cert-file and --key-file need an https URL, not %s", prefix)
		}
		return extender, nil
	}
	switch {
	case f.caFile == "":
		return extender, fmt.Errorf("--ca-file is required with %s: kube-scheduler verifies no certificate without it", prefix)
	case (f.certFile == "") != (f.keyFile == ""):
		return extender, errors.New("--cert-file and --key-file belong together")
	case serving.TLS.AsksClients() && f.certFile == "":
		return extender, fmt.Errorf(
			"--cert-file and --key-file are required: by serving.tls muster refuses clients without a certificate for one of %q",
			serving.TLS.AllowedClientNames,
		)
	}
	extender.EnableHTTPS = true
	extender.TLSConfig = &schedulerv1.ExtenderTLSConfig{CAFile: f.caFile, CertFile: f.certFile, KeyFile: f.keyFile}
	return extender, nil
}

// urlPrefix returns the URL that was asked for, or the one that serving implies.
func (f *schedulerConfigFlags) urlPrefix(serving v1alpha2.Serving) (*url.URL, error) {
	if f.url == "" {
		return servingURL(serving)
	}
	if !strings.HasPrefix(f.url, "http://") && !strings.HasPrefix(f.url, "https://") {
		return nil, fmt.Errorf("%q must begin with http:// or https://", f.url)
	}
	prefix, err := url.Parse(f.url)
	switch {
	case err != nil:
		return nil, err
	case prefix.Hostname() == "":
		return nil, fmt.Errorf("%q names no host", f.url)
	case prefix.User != nil || prefix.RawQuery != "" || prefix.Fragment != "":
		return nil, fmt.Errorf("%q must have no user, query or fragment: kube-scheduler appends the verb to it", prefix.Redacted())
	case prefix.Scheme == "http" && serving.TLS.Enabled():
		return nil, fmt.Errorf("%q must begin with https://, as serving.tls is configured", f.url)
	}
	return prefix, nil
}

func servingURL(serving v1alpha2.Serving) (*url.URL, error) {
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

// encodeSchedulerConfig returns the fields that are set, as YAML below a comment.
func encodeSchedulerConfig(scheduler *schedulerv1.KubeSchedulerConfiguration, comment string) ([]byte, error) {
	data, err := json.Marshal(scheduler)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, err
	}
	dropUnset(fields)
	document, err := yaml.Marshal(fields)
	return slices.Concat([]byte(schedulerConfigHeader), []byte(comment), document), err
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

// prioritizes says that kube-scheduler would learn anything from the scores of a profile.
func prioritizes(profile v1alpha2.Profile) bool {
	return profile.NodeSelection == v1alpha2.NodeSelectionScheduler && len(profile.ScorePlugins()) > 0
}
