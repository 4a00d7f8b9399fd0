package muster

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/e2e/controlplane"
)

// Selection is a profile's nodeSelection: who chooses the node.
type Selection string

// The ways to choose.
const (
	Scheduler Selection = "Scheduler"
	Muster    Selection = "Muster"
)

// Gates is a profile's gates: how long its pods are gated.
type Gates string

// The gates. With another value than "" the API server gates pods while muster runs.
const (
	UntilMembers Gates = "UntilMembers"
	UntilPlace   Gates = "UntilPlace"
)

// Gatekeeper adds the gates of pods.
type Gatekeeper string

// The gatekeepers.
const (
	Policy  Gatekeeper = "Policy"
	Webhook Gatekeeper = "Webhook"
)

// Options of a server.
type Options struct {
	ControlPlane *controlplane.ControlPlane
	// Name is the name of the process, its configuration and its log, "muster" when empty. Each of
	// several beside a control plane has its own.
	Name string
	// Binary is the path of muster; it is built when empty.
	Binary string
	// ClockSkew is by how much the clock of the server's machine is ahead. Only a Binary heeds it that binaries.BuildSkewable built.
	ClockSkew time.Duration
	// Host is the name of the host that it takes itself to run on; see process.Spec.
	Host string
	// Selection of the default scheduler's profile, Scheduler when empty.
	Selection Selection
	// Offload says that the scheduler leaves to muster the plugins that muster runs.
	Offload bool
	// Beside are profiles beside that one, by scheduler name.
	Beside map[string]Selection
	// MinSaving is nomination.minSaving, the default when empty. "0s" has every pod nominated: with few nodes a
	// nomination saves little.
	MinSaving string
	// Config are further fields of the configuration.
	Config map[string]any
	// Kubeconfig is the path of the one to use, the administrator's when empty.
	Kubeconfig string
	// Gates of the default scheduler's profile, Never when empty.
	Gates Gates
	// GatedBy gates the pods, the Policy when empty. With the Webhook muster serves https.
	GatedBy Gatekeeper
	// Profile are more fields of the default scheduler's profile.
	Profile map[string]any
	// Load is the load section of muster's configuration, the default when nil.
	Load map[string]any
	// Text are fields of the configuration in YAML. They replace what the options above would write; null takes one out.
	Text string
	// Debug is the address of pages and metrics, one of nobody's when empty.
	Debug string
	// TLS has the verbs answer over https, and only the scheduler of the control plane.
	TLS bool
	// Progress hears about the build. Nil is silence.
	Progress io.Writer
}

// Ways returns the ways to choose a node, by name. Gated pods need the label muster.dev/ahead or a gang, and a scheduler that
// knows nothing of muster.
func Ways() map[string]Options {
	return map[string]Options{
		"Scheduler": {Selection: Scheduler},
		"Muster":    {Selection: Muster, MinSaving: "1h"},
		"nominated": {Selection: Muster, MinSaving: "0s"},
		"gated":     {Selection: Muster, Gates: UntilPlace},
	}
}

// Asked reports whether the scheduler calls muster: pods that are gated until they have a place need no call.
func (o Options) Asked() bool { return o.Gates != UntilPlace }

func (o Options) writeConfig(path string, identity *identity, webhook string) error {
	profile := func(name string, selection Selection) map[string]any {
		return map[string]any{"schedulerName": name, "nodeSelection": cmp.Or(selection, Scheduler)}
	}
	first := profile(corev1.DefaultSchedulerName, o.Selection)
	first["offload"] = o.Offload
	if o.Gates != "" {
		first["gates"] = o.Gates
	}
	maps.Copy(first, o.Profile)
	profiles := []any{first}
	for _, name := range slices.Sorted(maps.Keys(o.Beside)) {
		profiles = append(profiles, profile(name, o.Beside[name]))
	}
	fields := map[string]any{
		"apiVersion": "config.muster.dev/v1alpha2",
		"kind":       "MusterConfiguration",
		"profiles":   profiles,
	}
	if o.MinSaving != "" {
		fields["nomination"] = map[string]any{"minSaving": o.MinSaving}
	}
	if identity != nil {
		fields["serving"] = identity.serving(webhook)
	}
	maps.Copy(fields, o.Config)
	if o.Load != nil {
		fields["load"] = o.Load
	}
	var text map[string]any
	if err := yaml.Unmarshal([]byte(o.Text), &text); err != nil {
		return fmt.Errorf("parse fields of muster's config: %w", err)
	}
	maps.Copy(fields, text)
	maps.DeleteFunc(fields, func(_ string, value any) bool { return value == nil })
	config, err := yaml.Marshal(fields)
	if err != nil {
		return fmt.Errorf("encode muster's config: %w", err)
	}
	next := path + ".next" // a process may read the file at any time
	err = os.WriteFile(next, config, 0o644)
	if err == nil {
		err = os.Rename(next, path)
	}
	if err != nil {
		return fmt.Errorf("write muster's config: %w", err)
	}
	return nil
}
