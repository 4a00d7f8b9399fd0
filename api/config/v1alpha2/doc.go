// Package v1alpha2 is version v1alpha2 of muster's configuration: the kind
// MusterConfiguration of the API group config.muster.dev.
//
// A document goes through these steps, in this order and only here:
//
//	strict decode → default → validate → today's names of plugins
//
// Decode takes all of them, so a *MusterConfiguration that it returns is complete and
// valid: no reader of it needs a fallback or a check. Default returns what an empty
// document means. Package config reads files, of older versions too.
//
// Profiles follow the rules of kube-scheduler's own configuration: plugins
// carry its names and arguments, and enabled and disabled change the default
// set in the same way. The known plugins stand in one table, KnownPlugins;
// each plugin that takes arguments has a file args_*.go with its type, its
// defaults and its validation. The names that plugins had as predicates and
// priorities stand in aliases.go; validation understands them, so that its errors
// speak of what the user wrote.
//
//	config, err := v1alpha2.Decode(data)
//	if err != nil {
//		return err // one error per field, each naming path and value
//	}
//	for i := range config.Profiles {
//		profile := &config.Profiles[i]
//		fmt.Println(profile.SchedulerName, profile.FilterPlugins(), profile.ScorePlugins())
//	}
//
// A decoded configuration is read-only and safe for concurrent use.
package v1alpha2
