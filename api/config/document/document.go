// Package document reads documents of muster's configuration, of any version that there is.
package document

import (
	"fmt"
	"os"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/config/kubescheduler"
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

// Convert returns a valid document as one of the newest version: one of an older version, a configuration of
// kube-scheduler, or a Policy, as kube-scheduler had before. It leaves one that is of the newest version already as it
// is, comments included.
func Convert(data []byte) (document []byte, warnings []string, err error) {
	var converted []byte
	switch claimed := kindOf(data); {
	case claimed.APIVersion == v1alpha1.APIVersion:
		converted, warnings, err = v1alpha1.Convert(data)
	case claimed.Kind == v1alpha1.PolicyKind:
		converted, warnings, err = v1alpha1.ConvertPolicy(data)
	case claimed.Kind == kubescheduler.Kind || strings.HasPrefix(claimed.APIVersion, kubescheduler.Group+"/"):
		converted, warnings, err = kubescheduler.Convert(data)
	default:
		c, err := v1alpha2.Decode(data)
		if err != nil {
			return nil, nil, err
		}
		return data, c.Warnings(), nil
	}
	if err != nil {
		return nil, nil, err
	}
	document, err = yaml.JSONToYAML(converted)
	return document, warnings, err
}

// isOld reports whether a document claims to be of v1alpha1. One that is none at all is left to the
// newest version to refuse.
func isOld(data []byte) bool { return kindOf(data).APIVersion == v1alpha1.APIVersion }

// kindOf returns the kind that a document claims to be, which may be empty.
func kindOf(data []byte) (claimed metav1.TypeMeta) {
	if yaml.Unmarshal(data, &claimed) != nil {
		return metav1.TypeMeta{}
	}
	return claimed
}
