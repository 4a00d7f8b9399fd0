package app

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"muster.dev/muster/api/config"
)

// differences returns an error for each field in which two configurations differ, outside some sections: the
// process was set up by these fields when it started.
func differences(before, after *config.Configuration, but []string) ([]error, error) {
	var fields [2]map[string]any
	for i, cfg := range []*config.Configuration{before, after} {
		encoded, err := json.Marshal(cfg)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(encoded, &fields[i]); err != nil {
			return nil, err
		}
		for _, section := range but {
			delete(fields[i], section)
		}
	}
	return changes("", fields[0], fields[1]), nil
}

// changes returns an error for each field that differs, the sections below one included.
func changes(path string, before, after map[string]any) []error {
	all := maps.Clone(before)
	maps.Copy(all, after)
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(all)) {
		at, from, to := path+name, before[name], after[name]
		section, ofBefore := from.(map[string]any)
		other, ofAfter := to.(map[string]any)
		switch {
		case reflect.DeepEqual(from, to):
		case ofBefore && ofAfter:
			errs = append(errs, changes(at+".", section, other)...)
		default:
			errs = append(errs, fmt.Errorf("%s: muster must be restarted to change it from %s to %s", at, quote(from), quote(to)))
		}
	}
	return errs
}

// quote writes a value as in a document.
func quote(value any) string {
	encoded, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(encoded)
}
