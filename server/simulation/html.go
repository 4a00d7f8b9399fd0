package simulation

import (
	_ "embed"
	"fmt"
	"html"
	"math"
	"strings"

	"muster.dev/muster/charts/template"
	"muster.dev/muster/inspect"
)

//go:embed page.html
var pageTemplate string

// page has all that the page says.
type page struct {
	Title, Version string
	LeftOut        []string
	Names          []key
	Two            bool
	Rows           []row
	Charts         []chart
	Unstarted      []unstarted
}

// key is the name of a run, in its colour.
type key struct{ Key, Name string }

type row struct {
	Name  string
	Cells []string
}

type chart struct {
	Title, Top, Over string
	Lines            []curve
}

type curve struct{ Key, Name, Class, Path string }

type unstarted struct {
	Name  string
	Count int
	Jobs  []Unstarted
}

// HTML returns the answer as a page that needs nothing else.
func (a *Answer) HTML(version string) ([]byte, error) {
	p := page{Title: inspect.Printable(a.title()), Version: version, LeftOut: a.leftOut(), Two: len(a.Runs) == 2}
	for i := range a.Runs {
		run := &a.Runs[i]
		p.Names = append(p.Names, key{fmt.Sprint("key", i), run.Name})
		if len(run.Unstarted) > 0 {
			p.Unstarted = append(p.Unstarted, unstarted{run.Name, run.Waiting, run.Unstarted})
		}
	}
	for _, l := range a.lines() {
		r := row{Name: l.name}
		for i := range a.Runs {
			r.Cells = append(r.Cells, l.text(&a.Runs[i]))
		}
		if p.Two {
			r.Cells = append(r.Cells, l.ratio(&a.Runs[0], &a.Runs[1]))
		}
		p.Rows = append(p.Rows, r)
	}
	if use := a.Runs[0].Use; len(use) > 0 {
		p.Charts = append(p.Charts, a.curves("In use of "+use[0].Resource, "100 %", 1, func(r *Run) []float64 { return r.UseOverTime }))
	}
	most := a.mostWaiting()
	waiting := func(r *Run) []float64 { return r.WaitingOverTime }
	p.Charts = append(p.Charts, a.curves("Jobs that wait", fmt.Sprintf("%.0f", most), most, waiting))
	set, err := template.Parse(map[string]string{"page": pageTemplate}, nil, html.EscapeString)
	if err != nil {
		return nil, err
	}
	text, err := set.Fill("page", p)
	return []byte(text), err
}

// curves draws the values of all runs in one chart.
func (a *Answer) curves(title, top string, most float64, of func(*Run) []float64) chart {
	c := chart{Title: title, Top: top, Over: inspect.Seconds(a.ChartSeconds).String()}
	for i := range a.Runs {
		c.Lines = append(c.Lines, curve{fmt.Sprint("key", i), a.Runs[i].Name, fmt.Sprint("run", i), path(of(&a.Runs[i]), most)})
	}
	return c
}

// path draws values up to a top as the path of a chart of 720 by 150.
func path(values []float64, most float64) string {
	var d strings.Builder
	for i, value := range values {
		command, x := 'L', 50+720*(float64(i)+0.5)/float64(len(values))
		if i == 0 {
			command = 'M'
		}
		fmt.Fprintf(&d, "%c%.1f %.1f", command, x, 160-150*math.Min(1, value/most))
	}
	return d.String()
}
