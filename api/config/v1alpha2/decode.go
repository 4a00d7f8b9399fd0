package v1alpha2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/config/strict"
)

const (
	// GroupName is the API group of muster's configuration.
	GroupName = "config.muster.dev"
	// APIVersion is the apiVersion of every document of this package.
	APIVersion = GroupName + "/v1alpha2"
	// Kind is the kind of a configuration document.
	Kind = "MusterConfiguration"
)

// MusterConfiguration is a document of this version: every field is written as
// [config.Configuration] names it.
type MusterConfiguration struct {
	metav1.TypeMeta       `json:",inline"`
	*config.Configuration `json:",inline"`
}

// Of is the document that means a configuration.
func Of(c *config.Configuration) MusterConfiguration {
	return MusterConfiguration{TypeMeta: metav1.TypeMeta{APIVersion: APIVersion, Kind: Kind}, Configuration: c}
}

// Decode decodes, defaults and validates one YAML or JSON document. Nothing in it may
// be unknown, repeated or of the wrong type.
//
// The error is an Aggregate: either everything that is wrong with the shape of the
// document or, when its shape is right, everything that is wrong with its values.
// Errors about fields name the path of the field and the bad value.
func Decode(data []byte) (*config.Configuration, error) {
	document, err := strict.YAML(data, APIVersion, Kind)
	if err != nil {
		return nil, err
	}
	decoded := Of(config.Base())
	if errs := strict.Decode(nil, document, &decoded); len(errs) > 0 {
		return nil, Explained(errs).ToAggregate()
	}
	if errs := decoded.Complete(); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	return decoded.Configuration, nil
}
