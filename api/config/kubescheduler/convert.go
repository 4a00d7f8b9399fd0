package kubescheduler

import (
	"encoding/json"
	"fmt"
	"strings"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"muster.dev/muster/api/config/strict"
	"muster.dev/muster/api/config/v1alpha2"
)

// Convert returns what a YAML or JSON document means for muster, as a valid document of v1alpha2 in JSON. Warnings
// name what stays with kube-scheduler and what is not the same. The error is an Aggregate. It names fields of the
// document that was read, and after "converted: " fields of the result that nobody wrote.
func Convert(data []byte) (document []byte, warnings []string, err error) {
	written, apiVersion, err := strict.AnyVersion(data, Kind, apiVersions()...)
	if err != nil {
		return nil, nil, err
	}
	c := conversion{version: versionOf(apiVersion), places: map[string]*field.Path{}}
	whole := c.version.shape()
	if errs := strict.Decode(nil, written, whole); len(errs) > 0 {
		return nil, nil, errs.ToAggregate()
	}
	from, err := c.version.profilesOf(written)
	if err != nil {
		return nil, nil, utilerrors.NewAggregate([]error{err})
	}
	c.leaveRest(written)
	made := c.document(from, whole)
	c.sameQueue(from)
	if len(c.errs) > 0 {
		return nil, nil, c.errs.ToAggregate()
	}
	if document, err = json.Marshal(made); err != nil {
		return nil, nil, utilerrors.NewAggregate([]error{err})
	}
	cfg, err := v1alpha2.Decode(document)
	if err != nil {
		return nil, nil, c.inWrittenPlaces(err)
	}
	for _, warning := range cfg.Warnings() {
		c.warnings = append(c.warnings, c.inWrittenPlace(warning))
	}
	return document, c.warnings, nil
}

// conversion gathers what is said about a document while it is converted.
type conversion struct {
	version  *version
	timeout  *timeout
	places   map[string]*field.Path // by paths of the document that is made
	warnings []string
	errs     field.ErrorList
}

// document makes a document of profiles, and of the whole that they are from.
func (c *conversion) document(from []profile, whole any) map[string]any {
	var profiles []any
	for i := range from {
		profiles = append(profiles, c.profile(field.NewPath("profiles").Index(i), &from[i], whole))
	}
	c.spanTimeout(len(from))
	made := map[string]any{"apiVersion": v1alpha2.APIVersion, "kind": v1alpha2.Kind}
	if len(profiles) > 0 {
		made["profiles"] = profiles
	}
	if c.timeout != nil {
		made["gangs"] = map[string]string{"scheduleTimeout": c.timeout.value.String()}
	}
	return made
}

// profile says in muster's words what a profile means, for a path of the document that is made.
func (c *conversion) profile(path *field.Path, from *profile, whole any) map[string]any {
	m := making{
		conversion: c, from: from, to: path,
		usual: nodeResourcesLeastAllocated, old: map[string]pluginArgs{}, used: map[string]bool{},
	}
	m.leave()
	m.readArgs()
	if single, is := whole.(*v1alpha1Shape); is {
		m.algorithm(single)
	}
	to := map[string]any{}
	if from.SchedulerName != nil {
		to["schedulerName"] = *from.SchedulerName
		c.place(path.Child("schedulerName").String(), from.path.Child("schedulerName"))
	}
	filters, scores := m.filters(), m.scores()
	m.leaveOldArgs()
	if from.Plugins != nil || !filters.isEmpty() || !scores.isEmpty() {
		to["plugins"] = plugins(filters, scores)
	}
	if args := m.writtenArgs(path.Child("pluginConfig")); len(args) > 0 {
		to["pluginConfig"] = args
	}
	return to
}

func (c *conversion) warnf(path *field.Path, format string, args ...any) {
	c.warnings = append(c.warnings, path.String()+": "+fmt.Sprintf(format, args...))
}

// refuse adds an error about a value.
func (c *conversion) refuse(path *field.Path, value any, why string) {
	c.errs = append(c.errs, field.Invalid(path, value, why))
}

// making is a profile of muster's in the making.
type making struct {
	*conversion

	from *profile
	to   *field.Path           // in the document that is made
	args []pluginArgs          // of plugins that muster has
	old  map[string]pluginArgs // of plugins that are others today
	used map[string]bool       // the names in old of plugins that run
	// usual is the score of requests that runs by default, by its name at the time.
	usual string
}

// algorithm reads the fields of v1alpha1 that stand for plugins or their arguments.
func (m *making) algorithm(single *v1alpha1Shape) {
	path, source := field.NewPath("algorithmSource"), single.AlgorithmSource
	if source.Policy != nil {
		m.policy(path, source)
	} else if source.Provider != nil {
		switch *source.Provider {
		case "", defaultProvider:
		case clusterAutoscalerProvider:
			m.usual = nodeResourcesMostAllocated
		default:
			m.errs = append(
				m.errs, field.NotSupported(path.Child("provider"), *source.Provider, []string{defaultProvider, clusterAutoscalerProvider}),
			)
		}
	}
	if weight := single.HardPodAffinitySymmetricWeight; weight != nil {
		m.hardPodAffinityWeight(field.NewPath("hardPodAffinitySymmetricWeight"), *weight)
	}
}

// The names of providers.
const (
	defaultProvider           = "DefaultProvider"
	clusterAutoscalerProvider = "ClusterAutoscalerProvider"
)

// policy refuses a policy, which is in a document of its own.
func (m *making) policy(path *field.Path, source algorithmSource) {
	const instead = "the policy is not in this document: convert the one that holds it (kind Policy) with 'muster config convert -f', " +
		"and set profiles[0].schedulerName in what that writes"
	at := path.Child("policy")
	switch policy := source.Policy; {
	case source.Provider != nil:
		m.refuse(path.Child("provider"), *source.Provider, "not together with "+at.String())
	case policy.File != nil && policy.ConfigMap != nil:
		m.refuse(at.Child("configMap", "name"), policy.ConfigMap.Name, "not together with "+at.Child("file").String())
	case policy.File != nil:
		m.refuse(at.Child("file", "path"), policy.File.Path, instead)
	case policy.ConfigMap != nil:
		m.refuse(at.Child("configMap"), strings.Trim(policy.ConfigMap.Namespace+"/"+policy.ConfigMap.Name, "/"), instead)
	default:
		m.errs = append(m.errs, field.Required(at, "say in which file or ConfigMap it is"))
	}
}
