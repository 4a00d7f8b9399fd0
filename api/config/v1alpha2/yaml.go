package v1alpha2

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	yamlv2 "go.yaml.in/yaml/v2"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"sigs.k8s.io/yaml"
)

// parseYAML returns as JSON the one document that data holds. The error is an
// Aggregate.
func parseYAML(data []byte) ([]byte, error) {
	if err := checkUTF8(data); err != nil {
		return nil, utilerrors.NewAggregate([]error{err})
	}
	if err := checkOneDocument(data); err != nil {
		return nil, utilerrors.NewAggregate(syntaxErrors(data, err))
	}
	document, err := yaml.YAMLToJSONStrict(data)
	if err != nil {
		return nil, utilerrors.NewAggregate(syntaxErrors(data, err))
	}
	return document, nil
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

func checkOneDocument(data []byte) error {
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
		return fmt.Errorf("the document is empty: it must begin with apiVersion: %s and kind: %s", APIVersion, Kind)
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
