// Package helm fills in the chart as Helm does, for a program without Helm.
package helm

import (
	"fmt"
	"path"
	"strings"

	"sigs.k8s.io/yaml"

	"muster.dev/muster/charts"
	"muster.dev/muster/charts/template"
)

// Release is an installation of the chart.
type Release struct {
	Name, Namespace string
	// KubernetesVersion is the API server's, as in v1.36.0.
	KubernetesVersion string
	// Values are set over the chart's.
	Values map[string]any
}

const (
	// service is who installs, which labels tell.
	service = "muster"
	// templates are the chart's.
	templates = "templates/*"
)

// Render returns what the chart's templates say for a release, by the names of their files. One that says nothing is left out.
func Render(release Release) (map[string]string, error) {
	chart, values := map[string]any{}, map[string]any{}
	for name, into := range map[string]*map[string]any{"Chart.yaml": &chart, "values.yaml": &values} {
		if err := yaml.Unmarshal([]byte(charts.Texts(name)[name]), into); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	texts := charts.Texts(templates)
	set, err := template.Parse(texts, Functions(), nil)
	if err != nil {
		return nil, err
	}
	data := map[string]any{
		"Values":       merge(values, release.Values),
		"Chart":        map[string]any{"Name": chart["name"], "Version": chart["version"], "AppVersion": chart["appVersion"]},
		"Release":      map[string]any{"Name": release.Name, "Namespace": release.Namespace, "Service": service},
		"Capabilities": map[string]any{"KubeVersion": map[string]any{"Version": release.KubernetesVersion}},
	}
	rendered := map[string]string{}
	for name := range texts {
		if path.Ext(name) != ".yaml" {
			continue
		}
		text, err := set.Fill(name, data)
		if err != nil {
			return nil, err
		}
		if strings.TrimSpace(text) != "" {
			rendered[name] = text
		}
	}
	return rendered, nil
}

// Policies returns the templates of the admission policies, which define muster.policy.gates and others.
func Policies() (*template.Set, error) {
	const name = "_policies.tpl"
	return template.Parse(map[string]string{name: charts.Texts(templates)[name]}, Functions(), nil)
}
