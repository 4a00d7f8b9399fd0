package admission

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/config/kubescheduler"
	"muster.dev/muster/api/config/v1alpha2"
)

// Contradictions compares a configuration of kube-scheduler's, in YAML or JSON, with what 'muster scheduler-config' prints
// for muster's. Each line names the field of the document that differs, what is there, and what to write instead. What
// muster leaves to kube-scheduler (its own plugins, percentageOfNodesToScore, connections) is not compared. The error is
// that the document cannot be read.
func Contradictions(cfg *config.Configuration, document []byte) ([]string, error) {
	var scheduler schedulerv1.KubeSchedulerConfiguration
	if err := yaml.Unmarshal(document, &scheduler); err != nil {
		return nil, err
	}
	is, err := asProfiles(document)
	if err != nil {
		return nil, err
	}
	mirrored := schedulerv1.KubeSchedulerConfiguration{
		TypeMeta: metav1.TypeMeta{APIVersion: schedulerv1.SchemeGroupVersion.String(), Kind: kubescheduler.Kind},
		Profiles: make([]schedulerv1.KubeSchedulerProfile, len(cfg.Profiles)),
	}
	for i := range cfg.Profiles {
		to := &mirrored.Profiles[i]
		to.SchedulerName = &cfg.Profiles[i].SchedulerName
		if err := mirror(to, &cfg.Profiles[i], preempts(&scheduler, cfg.Profiles[i].SchedulerName)); err != nil {
			return nil, err
		}
	}
	printed, err := json.Marshal(mirrored)
	if err != nil {
		return nil, err
	}
	should, err := asProfiles(printed)
	if err != nil {
		return nil, err
	}
	var c contradictions
	for i := range should {
		at := slices.IndexFunc(is, func(p config.Profile) bool { return p.SchedulerName == should[i].SchedulerName })
		if at < 0 {
			c.add(field.NewPath("profiles"), "none has schedulerName: %s", should[i].SchedulerName)
			continue
		}
		c.compare(field.NewPath("profiles").Index(at), &is[at], &should[i])
	}
	return c, c.extenders(scheduler.Extenders, cfg.Profiles)
}

// asProfiles reads the profiles of a configuration of kube-scheduler's as profiles of muster's.
func asProfiles(document []byte) ([]config.Profile, error) {
	converted, _, err := kubescheduler.Convert(document)
	if err != nil {
		return nil, err
	}
	cfg, err := v1alpha2.Decode(converted)
	if err != nil {
		return nil, err
	}
	return cfg.Profiles, nil
}

// preempts reports whether kube-scheduler evicts pods for pods of a scheduler name.
func preempts(scheduler *schedulerv1.KubeSchedulerConfiguration, name string) bool {
	for i := range scheduler.Profiles {
		profile := &scheduler.Profiles[i]
		if profile.SchedulerName != nil && *profile.SchedulerName == name && profile.Plugins != nil {
			return !slices.ContainsFunc(profile.Plugins.PostFilter.Disabled, func(p schedulerv1.Plugin) bool {
				return p.Name == defaultPreemption || p.Name == config.AllPlugins
			})
		}
	}
	return true
}

// contradictions are lines about a document.
type contradictions []string

func (c *contradictions) add(path *field.Path, format string, args ...any) {
	*c = append(*c, path.String()+": "+fmt.Sprintf(format, args...))
}

// compare tells how a profile differs from what it should be.
func (c *contradictions) compare(path *field.Path, is, should *config.Profile) {
	plugins := path.Child("plugins")
	for _, known := range config.KnownPlugins() {
		if !known.InTree || known.Partial {
			continue
		}
		if runs := slices.Contains(is.FilterPlugins(), known.Name); runs != slices.Contains(should.FilterPlugins(), known.Name) {
			c.onOff(plugins.Child("filter"), known.Name, runs)
		}
		got, want := weightOf(is, known.Name), weightOf(should, known.Name)
		switch {
		case got == want:
		case got == 0 || want == 0:
			c.onOff(plugins.Child("score"), known.Name, got > 0)
		default:
			c.add(plugins.Child("score", "enabled"), "%s weighs %d, and %d in muster's profile: write {name: %s, weight: %d}",
				known.Name, got, want, known.Name, want)
		}
	}
	c.args(path.Child("pluginConfig"), is, should)
}

// onOff tells that a plugin runs in one of the two only.
func (c *contradictions) onOff(path *field.Path, name string, runs bool) {
	if runs {
		c.add(path.Child("disabled"), "%s runs, and is off in muster's profile or left to muster: add {name: %s}", name, name)
		return
	}
	c.add(path.Child("disabled"), "%s is off, and muster's profile leaves it to kube-scheduler: take {name: %s} out", name, name)
}

// weightOf returns the weight of a score plugin, 0 for one that does not run.
func weightOf(profile *config.Profile, name string) int64 {
	for _, score := range profile.ScorePlugins() {
		if score.Name == name {
			return score.Weight
		}
	}
	return 0
}

// args tells which arguments differ of plugins that kube-scheduler has.
func (c *contradictions) args(path *field.Path, is, should *config.Profile) {
	for _, known := range config.KnownPlugins() {
		if !known.InTree || known.NewArgs == nil {
			continue
		}
		got, want := argsOf(is, known.Name), argsOf(should, known.Name)
		if bytes.Equal(got, want) {
			continue
		}
		if want == nil {
			c.add(path, "%s has arguments, and those by default in muster's profile: take args %s out", known.Name, got)
			continue
		}
		c.add(path, "%s has other arguments in muster's profile: write {name: %s, args: %s}", known.Name, known.Name, want)
	}
}

// argsOf returns the arguments of a plugin in JSON, nil for those by default.
func argsOf(profile *config.Profile, name string) []byte {
	for _, changed := range profile.ChangedArgs() {
		if changed.Name == name {
			data, _ := json.Marshal(changed.Args) // it was decoded from JSON
			return data
		}
	}
	return nil
}

// extenders tells whether muster is called as the profiles ask.
func (c *contradictions) extenders(extenders []schedulerv1.Extender, profiles []config.Profile) error {
	registration, err := Registration(profiles)
	if err != nil {
		return err
	}
	path := field.NewPath("extenders")
	at := slices.IndexFunc(extenders, func(e schedulerv1.Extender) bool {
		_, of, _ := strings.Cut(e.URLPrefix, RegisteredPath)
		return e.FilterVerb != "" && strings.Trim(of, "/") == registration
	})
	if at < 0 && registration != "" {
		c.add(path, "none with a filterVerb has a urlPrefix that ends in %s%s, by which muster knows what kube-scheduler was told",
			RegisteredPath, registration)
	}
	if at < 0 {
		at = slices.IndexFunc(extenders, func(e schedulerv1.Extender) bool { return e.FilterVerb != "" })
	}
	if at < 0 {
		c.add(path, "none has a filterVerb: muster is not asked")
		return nil
	}
	scored := slices.ContainsFunc(profiles, func(p config.Profile) bool { return prioritizes(&p) })
	switch entry := extenders[at]; {
	case scored && entry.PrioritizeVerb == "":
		c.add(path.Index(at).Child("prioritizeVerb"), "is not set, and muster's profiles have scores of their own: write prioritize")
	case scored && entry.Weight != extenderWeight:
		c.add(path.Index(at).Child("weight"), "is %d, and muster's profiles have the weights: write %d", entry.Weight, extenderWeight)
	}
	return nil
}
