// Package document reads documents of muster's configuration, of any version that there is.
package document

import (
	"fmt"
	"os"

	"sigs.k8s.io/yaml"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/config/v1alpha1"
	"muster.dev/muster/api/config/v1alpha2"
)

// Load reads, converts, defaults and validates the configuration file at path. Like Decode
// it returns all errors at once; each begins with the path, as does each warning.
func Load(path string) (c *config.Configuration, warnings []string, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("read configuration: %w", err)
	}
	return DecodeFrom(path, data)
}

// DecodeFrom is Decode of what was read from a source, whose name errors and warnings begin
// with.
func DecodeFrom(source string, data []byte) (c *config.Configuration, warnings []string, err error) {
	c, warnings, err = Decode(data)
	if err != nil {
		return nil, nil, config.InSource(source, err)
	}
	for i := range warnings {
		warnings[i] = source + ": " + warnings[i]
	}
	return c, warnings, nil
}

// Decode decodes one YAML or JSON document. Warnings are about what is valid but likely to
// harm. The error is as of v1alpha2.Decode.
func Decode(data []byte) (c *config.Configuration, warnings []string, err error) {
	if isOld(data) {
		c, warnings, err = v1alpha1.Decode(data)
		return c, append([]string{deprecation}, warnings...), err
	}
	if c, err = v1alpha2.Decode(data); err != nil {
		return nil, nil, err
	}
	return c, c.Warnings(), nil
}

const deprecation = "apiVersion " + v1alpha1.APIVersion + " is deprecated: 'muster config convert' writes " + v1alpha2.APIVersion

// Convert returns a valid document as one of the newest version. It leaves one that is of it
// already as it is, comments included.
func Convert(data []byte) (document []byte, warnings []string, err error) {
	if !isOld(data) {
		c, err := v1alpha2.Decode(data)
		if err != nil {
			return nil, nil, err
		}
		return data, c.Warnings(), nil
	}
	converted, warnings, err := v1alpha1.Convert(data)
	if err != nil {
		return nil, nil, err
	}
	document, err = yaml.JSONToYAML(converted)
	return document, warnings, err
}

// isOld reports whether a document claims to be of v1alpha1. One that is none at all is left to the
// newest version to refuse.
func isOld(data []byte) bool {
	var found struct {
		APIVersion string `json:"apiVersion"`
	}
	return yaml.Unmarshal(data, &found) == nil && found.APIVersion == v1alpha1.APIVersion
}
