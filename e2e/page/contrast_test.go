package page

import "strings"

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
