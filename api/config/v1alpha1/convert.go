package v1alpha1

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"

	corev1 "k8s.io/api/core/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/config/strict"
	"muster.dev/muster/api/config/v1alpha2"
)

// Decode decodes a YAML or JSON document of this version, as v1alpha2.Decode does one of
// v1alpha2, and returns what it means there. Errors name the fields that were written.
func Decode(data []byte) (cfg *config.Configuration, warnings []string, err error) {
	_, cfg, warnings, err = convert(data)
	return cfg, warnings, err
}

// Convert returns a valid document of this version as one of v1alpha2, in JSON: what was
// written, and the name of the profile.
func Convert(data []byte) (document []byte, warnings []string, err error) {
	document, _, warnings, err = convert(data)
	return document, warnings, err
}

// What a document says that it is with which kube-scheduler was given a [Policy].
const (
	PolicyAPIVersion = "v1"
	PolicyKind       = "Policy"
)

// ConvertPolicy is Convert of a document with that policy and nothing else, which means what it meant to kube-scheduler:
// without priorities nodes are scored by the weights that the default ones had.
func ConvertPolicy(data []byte) (document []byte, warnings []string, err error) {
	written, err := strict.YAML(data, PolicyAPIVersion, PolicyKind)
	if err != nil {
		return nil, nil, err
	}
	var policy map[string]json.RawMessage
	if err := json.Unmarshal(written, &policy); err != nil {
		return nil, nil, err
	}
	delete(policy, "apiVersion")
	delete(policy, "kind")
	around, err := json.Marshal(map[string]any{
		"apiVersion": APIVersion, "kind": Kind, "algorithmSource": map[string]any{"policy": policy},
	})
	if err != nil {
		return nil, nil, err
	}
	document, warnings, err = Convert(around)
	if priorities := policy["priorities"]; err != nil || priorities != nil && string(priorities) != "null" {
		return document, warnings, err
	}
	if document, err = withFormerWeights(document); err != nil {
		return nil, nil, err
	}
	return document, append(warnings, "priorities: the weights are written that the default ones had: "+
		"InterPodAffinityPriority 1, NodeAffinityPriority 1, TaintTolerationPriority 1"), nil
}

// withFormerWeights writes the weights into a document without scores that default plugins had as priorities, and that are
// others today.
func withFormerWeights(document []byte) ([]byte, error) {
	var made map[string]any
	if err := json.Unmarshal(document, &made); err != nil {
		return nil, err
	}
	profile, _ := made["profiles"].([]any)[0].(map[string]any)
	plugins, given := profile["plugins"].(map[string]any)
	if !given {
		plugins = map[string]any{}
	}
	var enabled []config.WeightedPlugin
	for _, name := range []string{config.InterPodAffinity, config.NodeAffinity, config.TaintToleration} {
		enabled = append(enabled, config.WeightedPlugin{Name: name, Weight: new(int32(1))})
	}
	plugins["score"] = config.ScoreSet{Enabled: enabled}
	profile["plugins"] = plugins
	return json.Marshal(made)
}

func convert(data []byte) (document []byte, cfg *config.Configuration, warnings []string, err error) {
	written, err := strict.YAML(data, APIVersion, Kind)
	if err != nil {
		return nil, nil, nil, err
	}
	var old MusterConfiguration
	if errs := strict.Decode(nil, written, &old); len(errs) > 0 {
		return nil, nil, nil, v1alpha2.Explained(errs).ToAggregate()
	}
	c := conversion{profile: config.Profile{
		SchedulerName: cmp.Or(old.SchedulerName, corev1.DefaultSchedulerName),
		Plugins:       old.Plugins, PluginConfig: old.PluginConfig,
	}}
	c.convert(&old)
	if document, err = replaceProfile(written, &c.profile); err != nil {
		return nil, nil, nil, err
	}
	cfg, err = v1alpha2.Decode(document)
	var errs []error
	for _, e := range c.errs {
		errs = append(errs, e)
	}
	errs = append(errs, c.inOldPlaces(err)...)
	if len(errs) > 0 {
		return nil, nil, nil, utilerrors.NewAggregate(errs)
	}
	if old.AlgorithmSource.Policy == nil { // one disables the default plugins by what it is
		for _, warning := range cfg.Warnings() {
			c.warnings = append(c.warnings, strings.TrimPrefix(warning, onlyProfile))
		}
	}
	return document, cfg, c.warnings, nil
}

// onlyProfile is where v1alpha2 has what v1alpha1 has at the top.
const onlyProfile = "profiles[0]."

// inOldPlaces takes errors about a converted document apart and has them name fields of the
// one that was written.
func (c *conversion) inOldPlaces(err error) []error {
	all, ok := errors.AsType[utilerrors.Aggregate](err)
	if !ok {
		return nil
	}
	var errs []error
	for _, e := range all.Errors() {
		if at, ok := errors.AsType[*field.Error](e); ok {
			moved := *at
			moved.Field = c.written(strings.TrimPrefix(at.Field, onlyProfile))
			e = &moved
		}
		errs = append(errs, e)
	}
	return errs
}

// replaceProfile returns the document that was written, as one of v1alpha2 with a profile.
func replaceProfile(written []byte, profile *config.Profile) ([]byte, error) {
	var document, converted map[string]json.RawMessage
	if err := json.Unmarshal(written, &document); err != nil {
		return nil, err
	}
	encoded, err := json.Marshal(profile)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(encoded, &converted); err != nil {
		return nil, err
	}
	for _, unknown := range []string{"nodeSelection", "gates", "equivalence", "offload"} { // to v1alpha1
		delete(converted, unknown)
	}
	for name, value := range converted {
		if empty := string(value); empty == "{}" || empty == `""` {
			delete(converted, name)
		}
	}
	for _, moved := range []string{"schedulerName", "algorithmSource", "hardPodAffinitySymmetricWeight", "plugins", "pluginConfig"} {
		delete(document, moved)
	}
	if document["apiVersion"], err = json.Marshal(v1alpha2.APIVersion); err != nil {
		return nil, err
	}
	if document["profiles"], err = json.Marshal([]any{converted}); err != nil {
		return nil, err
	}
	return json.Marshal(document)
}
