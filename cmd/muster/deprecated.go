package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/config/v1alpha1"
)

// The names of flags that say what a field of v1alpha1 says.
const (
	flagSchedulerName         = "scheduler-name"
	flagAlgorithmProvider     = "algorithm-provider"
	flagHardPodAffinityWeight = "hard-pod-affinity-symmetric-weight"
)

// deprecatedFlags change the default profile, which there is without a configuration file.
type deprecatedFlags struct {
	schedulerName         string
	algorithmProvider     string
	hardPodAffinityWeight int32
}

func (f *deprecatedFlags) register(flags *pflag.FlagSet) {
	const instead = " Ignored with --config."
	flags.StringVar(
		&f.schedulerName,
		flagSchedulerName,
		"default-scheduler",
		"DEPRECATED: `NAME` of the default profile; use profiles[].schedulerName."+instead,
	)
	flags.StringVar(
		&f.algorithmProvider,
		flagAlgorithmProvider,
		v1alpha1.DefaultProvider,
		"DEPRECATED: `PROVIDER` of the plugins of the default "+
			"profile, "+v1alpha1.DefaultProvider+" or "+v1alpha1.ClusterAutoscalerProvider+"; use profiles[].plugins."+instead,
	)
	flags.Int32Var(
		&f.hardPodAffinityWeight,
		flagHardPodAffinityWeight,
		1,
		"DEPRECATED: `WEIGHT` that required affinity of other pods has in the scores of the default profile, 0 to 100; use "+
			"hardPodAffinityWeight in the args of InterPodAffinity."+instead,
	)
}

// given returns the flags of the command line that are deprecated.
func (f *deprecatedFlags) given(flags *pflag.FlagSet) []string {
	var given []string
	for _, name := range []string{flagSchedulerName, flagAlgorithmProvider, flagHardPodAffinityWeight} {
		if flags.Changed(name) {
			given = append(given, name)
		}
	}
	return given
}

// load reads the configuration file, or makes a configuration of the flags when there is none.
// Of each flag that was given warn hears why it should not be.
func (f *deprecatedFlags) load(
	cmd *cobra.Command, file string, warn func(flag, why string),
) (loaded *config.Configuration, warnings []string, err error) {
	why := "deprecated: say it in a configuration file"
	if file != "" {
		why = "deprecated and ignored: there is a configuration file"
	}
	given := f.given(cmd.Flags())
	for _, name := range given {
		warn("--"+name, why)
	}
	if file != "" || len(given) == 0 {
		return loadConfig(file)
	}
	if loaded, err = f.config(); err != nil {
		return nil, nil, usagef(cmd, "%w", err)
	}
	return loaded, nil, nil
}

// config returns the default configuration with the flags in its one profile.
func (f *deprecatedFlags) config() (*config.Configuration, error) {
	document, err := json.Marshal(map[string]any{
		"apiVersion": v1alpha1.APIVersion, "kind": v1alpha1.Kind,
		"schedulerName":                  f.schedulerName,
		"algorithmSource":                v1alpha1.AlgorithmSource{Provider: f.algorithmProvider},
		"hardPodAffinitySymmetricWeight": f.hardPodAffinityWeight,
	})
	if err != nil {
		return nil, fmt.Errorf("deprecated flags: %w", err)
	}
	cfg, _, err := v1alpha1.Decode(document)
	return cfg, byFlag(err)
}

// byFlag has errors about fields of v1alpha1 name the flags that say the same.
func byFlag(err error) error {
	all, ok := errors.AsType[utilerrors.Aggregate](err)
	if !ok {
		return err
	}
	flags := map[string]string{
		"schedulerName":                  flagSchedulerName,
		"algorithmSource.provider":       flagAlgorithmProvider,
		"hardPodAffinitySymmetricWeight": flagHardPodAffinityWeight,
	}
	var errs []error
	for _, e := range all.Errors() {
		if at, ok := errors.AsType[*field.Error](e); ok {
			e = &field.Error{Type: at.Type, Field: "--" + flags[at.Field], BadValue: at.BadValue, Detail: at.Detail}
		}
		errs = append(errs, e)
	}
	return utilerrors.NewAggregate(errs)
}
