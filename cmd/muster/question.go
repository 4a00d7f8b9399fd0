package main

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"muster.dev/muster/api/explanation/v1alpha1"
)

// question is about a pod or what makes pods, by its name or in a manifest.
type question struct {
	about               subject
	namespace, manifest string
}

func (q *question) register(flags *pflag.FlagSet) {
	registerNamespace(flags, &q.namespace, "what is asked about")
	flags.StringVarP(&q.manifest, "filename", "f", "",
		"`FILE` of a pod, or of what makes pods, to ask about instead, in YAML or JSON; - is standard input")
}

// explain returns how to ask where pods are to go.
func (q *question) explain(cmd *cobra.Command) (explaining, error) {
	if q.manifest != "" {
		return q.explainManifest(cmd)
	}
	name, err := q.about.in(cmd, q.namespace)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, a *asked) (explained, error) {
		if kind := q.about.of.owner; kind != "" {
			return a.muster.Owned(ctx, kind, name.in(a.namespace), name.name)
		}
		told, err := a.muster.Explain(ctx, name.in(a.namespace), name.name)
		if a.denied(err) {
			return a.question(ctx, cmd, name.in(a.namespace), v1alpha1.About(v1alpha1.Pod, name.name), err)
		}
		return told, err
	}, nil
}

// explainManifest returns how to ask about a manifest.
func (q *question) explainManifest(cmd *cobra.Command) (explaining, error) {
	if q.namespace != "" {
		return nil, usagef(cmd, "--namespace: the %s of --filename has its own", q.about.of)
	}
	manifest, err := readManifest(cmd, q.manifest)
	if err != nil {
		return nil, err
	}
	templates, err := templatesOf(manifest)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, a *asked) (explained, error) {
		if len(templates) == 0 {
			return a.muster.ExplainManifest(ctx, manifest)
		}
		all := &explainedTemplates{}
		for _, template := range templates {
			told, err := a.muster.ExplainManifest(ctx, template.pod)
			if err != nil {
				return nil, err
			}
			all.add(template.path, told)
		}
		return all, nil
	}, nil
}
