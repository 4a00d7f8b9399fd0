package strict

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	yamlv2 "go.yaml.in/yaml/v2"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"sigs.k8s.io/yaml"
)

// YAML returns as JSON the one document that data holds, which is to be of an apiVersion and
// kind. The error is an Aggregate: one error per mistake, with its line where that is known.
func YAML(data []byte, apiVersion, kind string) ([]byte, error) {
	document, _, err := AnyVersion(data, kind, apiVersion)
	return document, err
}

// AnyVersion is [YAML] of a document that may be of one of several apiVersions, the newest first. It returns the one
// that was found.
func AnyVersion(data []byte, kind string, apiVersions ...string) (document []byte, apiVersion string, err error) {
	if err := checkUTF8(data); err != nil {
		return nil, "", utilerrors.NewAggregate([]error{err})
	}
	if err := checkOneDocument(data, apiVersions[0], kind); err != nil {
		return nil, "", utilerrors.NewAggregate(syntaxErrors(data, err))
	}
	if document, err = yaml.YAMLToJSONStrict(data); err != nil {
		return nil, "", utilerrors.NewAggregate(syntaxErrors(data, err))
	}
	if apiVersion, err = checkKind(document, kind, apiVersions); err != nil {
		return nil, "", utilerrors.NewAggregate([]error{err})
	}
	return document, apiVersion, nil
}

// checkKind says whether the document is of a kind and one of several apiVersions, and returns that one.
func checkKind(document []byte, kind string, apiVersions []string) (string, error) {
	var found struct {
		APIVersion any `json:"apiVersion"`
		Kind       any `json:"kind"`
	}
	if err := json.Unmarshal(document, &found); err != nil {
		return "", errors.New("not a configuration: the document must be a mapping that begins with apiVersion and kind")
	}
	if apiVersion, _ := found.APIVersion.(string); found.Kind == kind && slices.Contains(apiVersions, apiVersion) {
		return apiVersion, nil
	}
	var supported []string
	for _, apiVersion := range apiVersions {
		supported = append(supported, strconv.Quote(apiVersion))
	}
	return "", fmt.Errorf("found %s and %s, supported are apiVersion %s and kind %q",
		describeKind("apiVersion", found.APIVersion), describeKind("kind", found.Kind), strings.Join(supported, ", "), kind)
}

func describeKind(key string, value any) string {
	switch value := value.(type) {
	case nil:
		return "no " + key
	case string:
		return fmt.Sprintf("%s %q", key, value)
	default:
		return fmt.Sprintf("%s %v", key, value)
	}
}

func checkUTF8(data []byte) error {
	for offset := 0; offset < len(data); {
		r, size := utf8.DecodeRune(data[offset:])
		if r == utf8.RuneError && size == 1 {
			line := 1 + bytes.Count(data[:offset], []byte("\n"))
			return fmt.Errorf("line %d: byte 0x%02x is not UTF-8 text", line, data[offset])
		}
		offset += size
	}
	return nil
}

func checkOneDocument(data []byte, apiVersion, kind string) error {
	documents := yamlv2.NewDecoder(bytes.NewReader(data))
	documents.SetStrict(true)
	found := 0
	for {
		var content any
		err := documents.Decode(&content)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if content != nil {
			found++
		}
	}
	switch found {
	case 0:
		return fmt.Errorf("the document is empty: it must begin with apiVersion: %s and kind: %s", apiVersion, kind)
	case 1:
		return nil
	default:
		return fmt.Errorf("found %d YAML documents, supported is one", found)
	}
}

// syntaxErrors rewrites a parser's error as one error per mistake, each with its line.
func syntaxErrors(data []byte, err error) []error {
	if mistakes, ok := errors.AsType[*yamlv2.TypeError](err); ok {
		var errs []error
		for _, mistake := range mistakes.Errors {
			errs = append(errs, errors.New(mistake))
		}
		return errs
	}
	if line := tabIndentedLine(data); line > 0 && strings.Contains(err.Error(), "cannot start any token") {
		return []error{fmt.Errorf("line %d: indented with a tab: YAML allows only spaces", line)}
	}
	return []error{err}
}

// tabIndentedLine returns the number of the first line with a tab in its indentation,
// 0 when there is none.
func tabIndentedLine(data []byte) int {
	for i, line := range strings.Split(string(data), "\n") {
		if strings.HasPrefix(strings.TrimLeft(line, " "), "\t") {
			return i + 1
		}
	}
	return 0
}
