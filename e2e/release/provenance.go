package release

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
)

// Origin is where what is released comes from.
type Origin struct {
	Source   string // host/owner/name
	Revision string // the commit
	Version  string
	Go       string // the release of Go, as in go1.26.8
	// Builder is a URI of who built it.
	Builder string
}

// The types of an in-toto statement with the provenance of SLSA (slsa.dev/spec/v1.0/provenance).
const (
	statementType  = "https://in-toto.io/Statement/v1"
	provenanceType = "https://slsa.dev/provenance/v1"
	buildType      = "https://muster.dev/release/v1"
)

type (
	statement struct {
		Type          string      `json:"_type"`
		Subject       []subject   `json:"subject"`
		PredicateType string      `json:"predicateType"`
		Predicate     *provenance `json:"predicate"`
	}
	subject struct {
		Name   string            `json:"name"`
		Digest map[string]string `json:"digest"`
	}
	provenance struct {
		BuildDefinition definition `json:"buildDefinition"`
		RunDetails      run        `json:"runDetails"`
	}
	definition struct {
		BuildType            string            `json:"buildType"`
		ExternalParameters   map[string]string `json:"externalParameters"`
		ResolvedDependencies []dependency      `json:"resolvedDependencies"`
	}
	dependency struct {
		URI    string            `json:"uri"`
		Digest map[string]string `json:"digest,omitempty"`
	}
	run struct {
		Builder builder `json:"builder"`
	}
	builder struct {
		ID string `json:"id"`
	}
)

// WriteProvenance says of what, by which digest as sha256:…, where it comes from.
func WriteProvenance(path string, o Origin, digests map[string]string) error {
	s := statement{Type: statementType, PredicateType: provenanceType, Predicate: &provenance{
		BuildDefinition: definition{
			BuildType:          buildType,
			ExternalParameters: map[string]string{"source": "git+https://" + o.Source, "version": o.Version},
			ResolvedDependencies: []dependency{
				{URI: "git+https://" + o.Source, Digest: map[string]string{"gitCommit": o.Revision}},
				{URI: "https://go.dev/dl/#" + o.Go},
			},
		},
		RunDetails: run{Builder: builder{ID: o.Builder}},
	}}
	for _, name := range slices.Sorted(maps.Keys(digests)) {
		s.Subject = append(s.Subject, subject{Name: name, Digest: map[string]string{"sha256": strings.TrimPrefix(digests[name], "sha256:")}})
	}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
