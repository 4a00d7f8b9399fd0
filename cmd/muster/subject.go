package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"muster.dev/muster/api/spelling"
	"muster.dev/muster/server/remote"
)

// objectType is a type of what commands ask about.
type objectType struct {
	names      []string // as kubectl has them, the first is shown
	namespaced bool
	// known are the names of those worth asking about, with their namespaces.
	known func(context.Context, *remote.Client) ([]string, error)
	// owner is the kind of a type of objects that make pods, "" for others.
	owner string
}

func (o objectType) String() string { return o.names[0] }

func podType() objectType {
	return objectType{
		names: []string{"pod", "pods", "po"}, namespaced: true,
		known: func(ctx context.Context, c *remote.Client) ([]string, error) { return c.Waiting(ctx) },
	}
}

func gangType() objectType {
	return objectType{
		names: []string{"gang", "gangs", "podgroup", "podgroups"}, namespaced: true,
		known: func(ctx context.Context, c *remote.Client) ([]string, error) { return c.Gangs(ctx) },
	}
}

func planType() objectType {
	return objectType{
		names: []string{"plan", "plans", "reschedulingplan", "reschedulingplans"},
		known: func(ctx context.Context, c *remote.Client) ([]string, error) { return c.PlanNames(ctx) },
	}
}

// typeNamed is the type of a name.
func typeNamed(name string, types []objectType) (objectType, bool) {
	resource, _, _ := strings.Cut(strings.ToLower(name), ".") // without its group, as in jobsets.jobset.x-k8s.io
	at := slices.IndexFunc(types, func(t objectType) bool { return slices.Contains(t.names, resource) })
	if at < 0 {
		return objectType{}, false
	}
	return types[at], true
}

// subject is the kind and name that a command line asks about.
type subject struct {
	of objectType
	// named is NAME or NAMESPACE/NAME, "" where a manifest has the object.
	named string
}

// subjectOf parses TYPE NAME or TYPE/NAME. With a manifest there is no name, and a type need not be.
func subjectOf(cmd *cobra.Command, args []string, manifest bool, types ...objectType) (subject, error) {
	if len(args) == 0 {
		if manifest {
			return subject{of: types[0]}, nil
		}
		return subject{}, usagef(cmd, "nothing is named to ask about: %s", usageOf(types))
	}
	typed, rest, joined := strings.Cut(args[0], "/")
	of, found := typeNamed(typed, types)
	if joined {
		args = append([]string{typed, rest}, args[1:]...)
	}
	switch {
	case !found:
		return subject{}, unknownType(cmd, typed, joined, types)
	case manifest && len(args) > 1:
		return subject{}, usagef(cmd, "--filename has the %s to ask about: leave %q out", of, args[1])
	case !manifest && len(args) == 1:
		return subject{}, usagef(cmd, "no %s is named: name one as %s/NAME", of, of)
	case len(args) > 2:
		return subject{}, usagef(cmd, "want one %s, and not %d: leave %q out", of, len(args)-1, args[2])
	case manifest:
		return subject{of: of}, nil
	}
	return subject{of, args[1]}, nil
}

// usageOf says how objects are named.
func usageOf(types []objectType) string {
	var all []string
	for _, t := range types {
		if t.owner == "" {
			all = append(all, t.String()+"/NAME")
		}
	}
	usage := "name it as " + strings.Join(all, " or ")
	if slices.ContainsFunc(types, func(t objectType) bool { return t.owner != "" }) {
		usage += ", or what makes pods, as deployment/NAME, job/NAME or jobset/NAME"
	}
	return usage
}

func unknownType(cmd *cobra.Command, typed string, joined bool, types []objectType) error {
	var names []string
	for _, t := range types {
		names = append(names, t.names...)
	}
	if nearest := spelling.Nearest(typed, names); nearest != "" {
		return usagef(cmd, "unknown type %q, did you mean %s?", typed, nearest)
	}
	if joined {
		return usagef(cmd, "%q is no type but perhaps a namespace: the type goes before it: %s", typed, usageOf(types))
	}
	return usagef(cmd, "unknown type %q: %s", typed, usageOf(types))
}

// qualified is a name with its namespace.
type qualified struct{ namespace, name string }

// in is the namespace, or another one where none is named.
func (q qualified) in(otherwise string) string {
	if q.namespace != "" {
		return q.namespace
	}
	return otherwise
}

// in joins the subject and --namespace.
func (s subject) in(cmd *cobra.Command, namespace string) (qualified, error) {
	in, name, found := strings.Cut(s.named, "/")
	switch {
	case !s.of.namespaced && (found || s.named == ""):
		return qualified{}, usagef(cmd, "%q is no %s: it has no namespace, name it as %s/NAME", s.named, s.of, s.of)
	case !s.of.namespaced && namespace != "":
		return qualified{}, usagef(cmd, "--namespace: a %s has none: leave %q out", s.of, namespace)
	case !found:
		in, name = namespace, s.named
	case in == "" || strings.Contains(name, "/"):
		name = ""
	}
	if name == "" {
		return qualified{}, usagef(cmd, "%q is no %s: name it as NAMESPACE/NAME", s.named, s.of)
	}
	if namespace != "" && namespace != in {
		return qualified{}, usagef(cmd, "%q is not in the namespace of --namespace, %s", s.named, namespace)
	}
	return qualified{in, name}, nil
}

// registerNamespace adds the flag of the namespace of what is asked about.
func registerNamespace(flags *pflag.FlagSet, namespace *string, of string) {
	flags.StringVarP(namespace, "namespace", "n", "",
		"`NAMESPACE` of "+of+", unless its name has it (default: that of the kubeconfig's context where a cluster is asked, else default)")
}

// completeSubject completes the types, and the names of what is worth asking about.
func completeSubject(
	cmd *cobra.Command, flags *remoteFlags, args []string, begun, namespace string, types ...objectType,
) ([]string, cobra.ShellCompDirective) {
	var typed, prefix string
	switch before, rest, joined := strings.Cut(begun, "/"); {
	case len(args) == 1:
		typed = args[0]
	case len(args) > 1:
		return nil, cobra.ShellCompDirectiveNoFileComp
	case joined:
		typed, prefix, begun = before, before+"/", rest
	default:
		var names []string
		for _, t := range types {
			if strings.HasPrefix(t.String(), begun) {
				names = append(names, t.String())
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	of, found := typeNamed(typed, types)
	if !found {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	asked, err := flags.client(cmd, "")
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	defer asked.stop()
	known, err := of.known(cmd.Context(), asked.muster)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var names []string
	for _, name := range complete(known, namespace, begun) {
		names = append(names, prefix+name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// complete are the names that begun may become: of a namespace, if one is given, by name alone.
func complete(known []string, namespace, begun string) (names []string) {
	for _, name := range known {
		if namespace != "" {
			short, found := strings.CutPrefix(name, namespace+"/")
			if !found {
				continue
			}
			name = short
		}
		if strings.HasPrefix(name, begun) {
			names = append(names, name)
		}
	}
	return names
}
