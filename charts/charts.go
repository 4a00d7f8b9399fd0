// Package charts holds what the chart and the program share: the chart.
package charts

import (
	"embed"
	"io/fs"
	"path"
)

//go:embed muster/Chart.yaml muster/values.yaml muster/crds/*.yaml muster/templates/*.tpl muster/templates/*.yaml
var files embed.FS

// Texts returns files of the chart by their names without directories. The pattern names them as in templates/*; there are
// Chart.yaml, values.yaml, crds and templates, and no others.
func Texts(pattern string) map[string]string {
	texts := map[string]string{}
	names, err := fs.Glob(files, path.Join("muster", pattern))
	for _, name := range names {
		var text []byte
		if text, err = files.ReadFile(name); err != nil {
			break
		}
		texts[path.Base(name)] = string(text)
	}
	if err != nil {
		panic(err) // the files are compiled in
	}
	return texts
}
