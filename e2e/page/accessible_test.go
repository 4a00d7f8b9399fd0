package page

import (
	"os"
	"strings"
)

// axe checks what the rules of axe-core check, if AXE names its script: 'make axe' fetches it.
func (b *browser) axe(theme string) {
	b.Helper()
	path := os.Getenv("AXE")
	if path == "" {
		b.Log("axe-core is not asked: make axe does")
		return
	}
	script, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	eval[bool](b, string(script)+`; delete window.checked; axe.run().then(
		({ violations }) => { window.checked = violations.flatMap(({ id, nodes }) => nodes.map((node) => id + ': ' + node.html)); },
		(error) => { window.checked = [String(error)]; }); true`)
	b.eventually("axe-core has looked", `Array.isArray(window.checked)`)
	violations := eval[[]string](b, `window.checked`)
	b.Logf("figure axe_violations_%s=%d", theme, len(violations))
	if len(violations) > 0 {
		b.Errorf("%s, axe-core:\n%s", theme, strings.Join(violations, "\n"))
	}
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
