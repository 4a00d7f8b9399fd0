package page

import (
	"os"
	"strings"
)

// violates has axe-core check the page, with the first 200 cells of the map, as the others are alike: if AXE names its script, which
// 'make axe' fetches. It returns how often the page violates a rule, and whether axe-core was asked.
func (b *browser) violates(at string) (found int, asked bool) {
	b.Helper()
	path := os.Getenv("AXE")
	if path == "" {
		b.Logf("%s: NOT CHECKED by axe-core: make axe does", at)
		return 0, false
	}
	script, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	if !eval[bool](b, `typeof axe !== 'undefined'`) {
		eval[bool](b, string(script)+`; true`)
	}
	eval[bool](b, `delete window.checked; axe.run({ exclude: ['#heat li:nth-child(n+201)'] }).then(
		({ violations }) => { window.checked = violations.flatMap(({ id, nodes }) => nodes.map((node) => id + ': ' + node.html)); },
		(error) => { window.checked = [String(error)]; }); true`)
	b.eventually("axe-core has looked", `Array.isArray(window.checked)`)
	violations := eval[[]string](b, `window.checked`)
	if len(violations) > 0 {
		b.Errorf("%s, axe-core:\n%s", at, strings.Join(violations, "\n"))
	}
	return len(violations), true
}

// isAccessible checks what a program can.
func (b *browser) isAccessible(theme string) {
	b.Helper()
	b.theme(theme)
	for what, script := range map[string]string{"names": "nameless", "contrast": "contrast", "colours of the map": "swatches"} {
		if bad := eval[[]string](b, b.script(script)); len(bad) > 0 {
			b.Errorf("%s, %s:\n%s", theme, what, strings.Join(bad, "\n"))
		}
	}
}
