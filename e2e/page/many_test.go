package page

import (
	"testing"

	"github.com/chromedp/chromedp"

	"muster.dev/muster/e2e/lab"
)

// TestThePageDrawsManyNodes measures how long it takes to draw 5,000 nodes that have all changed, in the map and in the table, which is
// open, until what is drawn is laid out.
func TestThePageDrawsManyNodes(t *testing.T) {
	lab.Long(t)
	t.Parallel()
	b := newBrowser(t)
	b.run(chromedp.Navigate("http://" + serve(t, "node").debug))
	b.eventually("the node has a cell", `document.querySelectorAll('#heat li').length === 1`)
	b.click(`#heat-table summary`)
	eval[bool](b, b.script("many"))
	b.eventually("5,000 nodes are drawn", `Array.isArray(window.redrawn)`)
	took := eval[[]any](b, `window.redrawn`)
	if len(took) != 4 {
		b.Fatalf("the page measured %v, want 4 figures", took)
	}
	b.Logf("figure page_redraw_ms_5000=%.0f", took[0])
	b.Logf("figure page_redraw_grouped_ms_5000=%.0f", took[1])
	b.Logf("figure page_redraw_fullest_first_ms_5000=%.0f", took[2])
	b.Logf("figure page_redraw_racks_ms_5000=%.0f", took[3])
}
