// Package config reads muster's configuration in any version that there is, as one of the
// newest.
package config

import (
	"fmt"
	"os"

	"sigs.k8s.io/yaml"

	"muster.dev/muster/api/config/v1alpha1"
	"muster.dev/muster/api/config/v1alpha2"
)

// Load reads, converts, defaults and validates the configuration file at path. Like Decode
// it returns all errors at once; each begins with the path, as does each warning.
func Load(path string) (config *v1alpha2.MusterConfiguration, warnings []string, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("read configuration: %w", err)
	}
	return DecodeFrom(path, data)
}

// DecodeFrom is Decode of what was read from a source, whose name errors and warnings begin
// with.
func DecodeFrom(source string, data []byte) (config *v1alpha2.MusterConfiguration, warnings []string, err error) {
	config, warnings, err = Decode(data)
	if err != nil {
		return nil, nil, v1alpha2.InSource(source, err)
	}
	for i := range warnings {
		warnings[i] = source + ": " + warnings[i]
	}
	return config, warnings, nil
}

// Decode decodes one YAML or JSON document. Warnings are about what is valid but likely to
// harm. The error is as of v1alpha2.Decode.
func Decode(data []byte) (config *v1alpha2.MusterConfiguration, warnings []string, err error) {
	if isOld(data) {
		config, warnings, err = v1alpha1.Decode(data)
		return config, append([]string{deprecation}, warnings...), err
	}
	if config, err = v1alpha2.Decode(data); err != nil {
		return nil, nil, err
	}
	return config, config.Warnings(), nil
}

const deprecation = "apiVersion " + v1alpha1.APIVersion + " is deprecated: 'muster config convert' writes " + v1alpha2.APIVersion

// Convert returns a valid document as one of the newest version. It leaves one that is of it
// already as it is, comments included.
func Convert(data []byte) (document []byte, warnings []string, err error) {
	if !isOld(data) {
		config, err := v1alpha2.Decode(data)
		if err != nil {
			return nil, nil, err
		}
		return data, config.Warnings(), nil
	}
	converted, warnings, err := v1alpha1.Convert(data)
	if err != nil {
		return nil, nil, err
	}
	document, err = yaml.JSONToYAML(converted)
	return document, warnings, err
}

// isOld says whether a document claims to be of v1alpha1. What is none at all is left to the
// newest version to refuse.
func isOld(data []byte) bool {
	var found struct {
		APIVersion string `json:"apiVersion"`
	}
	return yaml.Unmarshal(data, &found) == nil && found.APIVersion == v1alpha1.APIVersion
}
