package spelling_test

import (
	"testing"

	"muster.dev/muster/api/spelling"
)

func TestTheNearestNameIsMeant(t *testing.T) {
	names := []string{"lab/training", "lab/train", "shop/web"}
	for misspelled, want := range map[string]string{
		"lab/trainign": "lab/training", "trainin": "lab/training", "lab/trian": "lab/train", "shop/wep": "shop/web", "wbe": "shop/web",
		"other": "", "": "", "x": "", "lab/training": "lab/training",
	} {
		if got := spelling.Nearest(misspelled, names); got != want {
			t.Errorf("%q is taken for %q, want %q", misspelled, got, want)
		}
	}
	if got := spelling.Nearest("gnag", []string{"plan", "gang", "pod"}); got != "gang" {
		t.Errorf("gnag is taken for %q", got)
	}
	if got := spelling.Nearest("web", nil); got != "" {
		t.Errorf("of no names %q is taken", got)
	}
}
