// Package charts holds what the chart and the program share: the chart.
package charts

import (
	"embed"
	"io/fs"
)

//go:embed muster/Chart.yaml muster/values.yaml muster/crds/*.yaml muster/templates/*.tpl muster/templates/*.yaml
var files embed.FS

// Muster returns the files of the chart: what it is, its values, its definitions and its templates, and no others.
func Muster() fs.FS {
	chart, err := fs.Sub(files, "muster")
	if err != nil {
		panic(err) // it is a valid path
	}
	return chart
}
