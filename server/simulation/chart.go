package simulation

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"muster.dev/muster/inspect"
)

// The size of a chart in a terminal, in characters, without its scale.
const (
	chartWidth  = 72
	chartHeight = 4
)

// blocks are the parts of a character that may be filled, from none to all of it.
const blocks = " ▁▂▃▄▅▆▇█"

// charts draws what was in use, and how many jobs waited, over time. The charts of all runs have one scale.
func (a *Answer) charts(t *inspect.Table) {
	most := a.mostWaiting()
	for i := range a.Runs {
		run := &a.Runs[i]
		if len(run.Use) > 0 {
			a.chart(t, fmt.Sprintf("in use of %s by %s", run.Use[0].Resource, run.Name), run.UseOverTime, 1, "100 %")
		}
		a.chart(t, "jobs that wait by "+run.Name, run.WaitingOverTime, most, fmt.Sprintf("%.0f", most))
	}
}

// mostWaiting is the top of the charts of jobs that wait.
func (a *Answer) mostWaiting() (most float64) {
	for i := range a.Runs {
		most = max(most, slices.Max(a.Runs[i].WaitingOverTime))
	}
	return math.Max(1, math.Ceil(most))
}

func (a *Answer) chart(t *inspect.Table, title string, values []float64, most float64, scale string) {
	t.Gap()
	t.Row(title)
	for i, row := range drawn(values, most) {
		label := ""
		switch i {
		case 0:
			label = scale
		case chartHeight - 1:
			label = "0"
		}
		t.Row(fmt.Sprintf("%6s ▕%s", label, row))
	}
	over := inspect.Seconds(a.ChartSeconds).String()
	t.Row(fmt.Sprintf("%6s  0%*s", "", chartWidth-1, over))
}

// drawn draws values up to a top as rows of blocks, the top one first.
func drawn(values []float64, most float64) (rows []string) {
	shades := []rune(blocks)
	full := float64(len(shades) - 1)
	for row := range chartHeight {
		var line strings.Builder
		for column := range chartWidth {
			part := values[column*len(values)/chartWidth : max((column+1)*len(values)/chartWidth, column*len(values)/chartWidth+1)]
			sum := 0.0
			for _, value := range part {
				sum += value / float64(len(part))
			}
			height := sum/most*chartHeight - float64(chartHeight-1-row)
			shade := int(math.Round(full * min(1, max(0, height))))
			if row == chartHeight-1 && sum > 0 {
				shade = max(1, shade) // little is more than nothing
			}
			line.WriteRune(shades[shade])
		}
		rows = append(rows, strings.TrimRight(line.String(), " "))
	}
	return rows
}
