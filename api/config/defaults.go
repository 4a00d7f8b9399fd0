package config

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// KubeScheduler is the name in the certificates of kube-schedulers.
const KubeScheduler = "system:kube-scheduler"

// Default returns the configuration that an empty document stands for.
func Default() *Configuration {
	config := Base()
	config.setDefaults()
	return config
}

// Base returns the defaults of every field outside of profiles. A document is decoded
// on top of it, so that a zero that a user wrote stays a zero for validation to see.
func Base() *Configuration {
	return &Configuration{
		ClientConnection: ClientConnection{
			QPS: 500,
		},
		Serving: Serving{
			Listen: "127.0.0.1:8888",
		},
		Debug: Debug{Listen: "127.0.0.1:8887"},
		LeaderElection: LeaderElection{
			LeaseDuration:     metav1.Duration{Duration: 15 * time.Second},
			ResourceName:      "muster",
			ResourceNamespace: metav1.NamespaceSystem,
		},
		Timeouts: Timeouts{
			Filter: metav1.Duration{Duration: 5 * time.Second},
			Bind:   metav1.Duration{Duration: 30 * time.Second},
		},
		Nomination: Nomination{
			MinSaving: metav1.Duration{Duration: 4 * time.Millisecond},
		},
		Gangs: Gangs{
			ScheduleTimeout:        metav1.Duration{Duration: time.Minute},
			MaxHoldingPerNamespace: 200,
			ReserveMaxIdlePercent:  20,
			Evict:                  EvictWhole,
			WhenShort:              WhenShortFinish,
			Kinds:                  defaultGangKinds(),
		},
		Load:        baseLoad(),
		Logging:     Logging{Level: LogInfo},
		Tracing:     Tracing{SamplingRatePerMillion: 10_000},
		Rescheduler: baseRescheduler(),
	}
}

// setDefaults fills in what hangs on what was configured.
func (c *Configuration) setDefaults() {
	c.Serving.TLS.setDefaults()
	if c.Profiles == nil {
		c.Profiles = []Profile{{}}
	}
	if len(c.Profiles) == 1 && c.Profiles[0].SchedulerName == "" {
		c.Profiles[0].SchedulerName = corev1.DefaultSchedulerName
	}
	for i := range c.Profiles {
		c.Profiles[i].setDefaults()
	}
	c.Load.setDefaults(c.Profiles, c.Rescheduler.Relieve.Enabled || c.Rescheduler.Balance.Enabled)
}

// setDefaults says who may call, if anybody is asked.
func (t *TLS) setDefaults() {
	if t.AllowedClientNames == nil && t.AsksClients() {
		t.AllowedClientNames = []string{KubeScheduler}
	}
}

func seconds(n int) metav1.Duration {
	return metav1.Duration{Duration: time.Duration(n) * time.Second}
}

// defaultShortlist leaves kube-scheduler a third of the nodes that it looks for.
const defaultShortlist = 32

func (p *Profile) setDefaults() {
	if p.NodeSelection == "" {
		p.NodeSelection = NodeSelectionScheduler
	}
	if p.Gates == "" {
		p.Gates = GatesNever
	}
	if p.Equivalence == "" {
		p.Equivalence = EquivalenceControllerRef
	}
	if p.Shortlist == nil && p.NodeSelection == NodeSelectionScheduler {
		p.Shortlist = new(int32(defaultShortlist))
	}
	p.setArgsDefaults()
}

// setArgsDefaults completes the given arguments and adds the arguments of the other running plugins.
func (p *Profile) setArgsDefaults() {
	configured := map[string]bool{}
	for i := range p.PluginConfig {
		config := &p.PluginConfig[i]
		plugin, known := config.plugin()
		configured[plugin.Name] = true
		if config.Args == nil && known && plugin.NewArgs != nil {
			config.Args = plugin.NewArgs()
		}
		if args, ok := config.Args.(PluginArgs); ok {
			args.setDefaults()
		}
	}
	runs := map[string]bool{}
	for _, name := range p.FilterPlugins() {
		runs[name] = true
	}
	for _, score := range p.ScorePlugins() {
		runs[score.Name] = true
	}
	for _, plugin := range KnownPlugins() {
		if plugin.NewArgs == nil || !runs[plugin.Name] || configured[plugin.Name] {
			continue
		}
		args := plugin.NewArgs()
		args.setDefaults()
		p.PluginConfig = append(p.PluginConfig, PluginConfig{Name: plugin.Name, Args: args})
	}
}
