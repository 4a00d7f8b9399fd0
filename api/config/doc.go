// Package config is muster's configuration as the program knows it, whatever the version of the document
// that it was written in.
//
// Packages v1alpha1 and v1alpha2 decode documents, and package document reads files of any of them. All
// others read a *Configuration. What they get is complete and valid: no reader of it needs a fallback or
// a check. It is read-only and safe for concurrent use.
//
//	a document → strict decode → default → validate → today's names of plugins
//
// The fields carry the names of the newest version, in which errors speak. A version that differs has
// types of its own, as v1alpha1 does.
//
// Profiles follow the rules of kube-scheduler's own configuration: plugins carry its names and arguments,
// and enabled and disabled change the default set in the same way. The known plugins stand in one table,
// KnownPlugins; each plugin that takes arguments has a file args_*.go with its type, its defaults and its
// validation. The names that plugins had as predicates and priorities stand in aliases.go; validation
// understands them, so that its errors speak of what the user wrote.
package config
