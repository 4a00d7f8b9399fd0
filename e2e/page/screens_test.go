package page

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// widths are of a small telephone, a telephone and a laptop.
var widths = []int64{320, 390, 1280}

// screens are what the page is looked at for: each opens the page of a muster.
var screens = []struct {
	name string
	open func(*testing.T) *browser
}{
	{"day", func(t *testing.T) *browser {
		b := serveFile(t, workingDay().write(t)).looks(t)
		eval[bool](b, b.script("busy"))
		b.eventually("a working day", `window.pretending === true`)
		b.eventually("it is drawn", `document.querySelectorAll('#gangs li').length === 6 && document.querySelector('#past path') !== null &&
			document.querySelectorAll('#classes tbody tr').length === 12 && document.querySelector('#plans svg') !== null`)
		return b
	}},
	{"opened", func(t *testing.T) *browser {
		b := serveFile(t, workingDay().write(t)).looks(t)
		eval[bool](b, b.script("busy"))
		b.eventually("a working day", `window.pretending === true && document.querySelector('#plans svg') !== null`)
		eval[bool](b, `(location.hash = '#gang=ml%2Fllama-70b-pretraining-2026-11', true)`)
		b.eventually("a gang is open", `document.querySelectorAll('#opened-gang tbody tr').length >= 16`)
		eval[bool](b, `(document.querySelectorAll('details').forEach((one) => { one.open = true; }), true)`)
		b.eventually("the table of nodes", `document.querySelectorAll('#heat-table tbody th').length === 40`)
		return b
	}},
	{"pod", func(t *testing.T) *browser {
		b := serveFile(t, workingDay().write(t)).looks(t)
		eval[bool](b, `(location.hash = '#pod=shop%2Fcheckout-7d9f8c6b5-1', true)`)
		b.eventually("a pod is open", `document.querySelector('#opened-pod tbody tr') !== null`)
		return b
	}},
	{"racks", func(t *testing.T) *browser {
		b := serveFile(t, racks().write(t)).looks(t)
		eval[bool](b, `(location.hash = '#gang=ml%2Fllama', true)`)
		b.eventually("a gang is shown in its rack", `document.querySelectorAll('#heat .blocks > div').length === 14 &&
			document.querySelectorAll('#heat li.member').length === 8`)
		return b
	}},
	{"empty", func(t *testing.T) *browser {
		b := serveFile(t, newDump().write(t)).looks(t)
		b.eventually("nothing is there", `document.querySelector('#plans .empty') !== null`)
		return b
	}},
	{"outage", func(t *testing.T) *browser {
		s := serveFile(t, workingDay().write(t))
		b := s.looks(t)
		s.stop()
		b.eventually("muster is away", `document.body.dataset.state === 'away'`)
		return b
	}},
	{"many", func(t *testing.T) *browser {
		b := serveFile(t, manyNodes().write(t)).looks(t)
		b.eventually("every node has a cell, in its rack", `document.querySelectorAll('#heat .blocks > div').length === 300 &&
			document.querySelectorAll('#heat li').length === 5000`)
		return b
	}},
}

// TestThePageFitsEveryScreen looks at the page at every width, light and dark: nothing is cut, all can be read, and axe-core finds
// nothing.
func TestThePageFitsEveryScreen(t *testing.T) {
	t.Parallel()
	chromium(t)
	violations, asked := 0, 0
	for _, screen := range screens {
		t.Run(screen.name, func(t *testing.T) {
			b := screen.open(t)
			for _, width := range widths {
				b.run(chromedp.EmulateViewport(width, 900))
				for _, theme := range []string{"light", "dark"} {
					at := fmt.Sprintf("%s-%d-%s", screen.name, width, theme)
					b.isAccessible(theme)
					if cut := eval[[]string](b, b.script("cut")); len(cut) > 0 {
						t.Errorf("%s is cut:\n%s", at, strings.Join(cut, "\n"))
					}
					if found, is := b.violates(at); is {
						violations += found
						asked++
					}
					b.screenshot(at)
				}
			}
		})
	}
	if asked > 0 {
		t.Logf("figure page_axe_screens=%d", asked)
		t.Logf("figure page_axe_violations=%d", violations)
	}
}
