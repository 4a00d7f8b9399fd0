package forward_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"muster.dev/muster/server/remote/forward"
)

func TestAKubeconfigIsReadAsKubectlDoes(t *testing.T) {
	c := newCluster(t)
	dir := t.TempDir()
	home, one, two := filepath.Join(dir, ".kube", "config"), filepath.Join(dir, "one"), filepath.Join(dir, "two")
	c.write(one, c.kubeconfig("one", "shop"))
	c.write(two, strings.NewReplacer(`"name":"c"`, `"name":"d"`, `"cluster":"c"`, `"cluster":"d"`).Replace(c.kubeconfig("two", "")))
	t.Setenv("HOME", dir)
	t.Setenv("KUBECONFIG", one+string(filepath.ListSeparator)+two+string(filepath.ListSeparator)+filepath.Join(dir, "absent"))
	for name, test := range map[string]struct{ file, context, wantContext, wantNamespace string }{
		"the current context of the first file": {"", "", "one", "shop"},
		"a context of another file":             {"", "two", "two", "default"},
		"a file that is named":                  {two, "", "two", "default"},
	} {
		t.Run(name, func(t *testing.T) {
			access, err := forward.Load(test.file, test.context)
			if err != nil {
				t.Fatal(err)
			}
			if access.Context != test.wantContext || access.Namespace != test.wantNamespace || access.Config.Host != c.URL {
				t.Errorf("got %+v, host %s", access, access.Config.Host)
			}
		})
	}
	for name, test := range map[string]struct{ file, context, want string }{
		"an unknown context": {"", "three", `no context is called "three": there are one, two`},
		"an absent file":     {filepath.Join(dir, "absent"), "", "absent: no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := forward.Load(test.file, test.context); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
	t.Setenv("KUBECONFIG", filepath.Join(dir, "absent"))
	if _, err := forward.Load(
		"",
		"",
	); !errors.Is(err, forward.ErrNoKubeconfig) ||
		!strings.Contains(err.Error(), filepath.Join(dir, "absent")) {
		t.Errorf("without a file: error %v", err)
	}
	if _, err := forward.Load(home, ""); err == nil || errors.Is(err, forward.ErrNoKubeconfig) {
		t.Errorf("a file that is named and absent: error %v", err)
	}
	c.write(one, `{"apiVersion":"v1","kind":"Config","clusters":[{"name":"c","cluster":{"server":"https://x"}}]}`)
	for current, want := range map[string]string{
		"": "no context is chosen: name one with --context", "gone": `current-context: no context is called "gone": it has none`,
	} {
		c.write(
			one,
			`{"apiVersion":"v1","kind":"Config","current-context":"`+current+`","clusters":[{"name":"c","cluster":{"server":"https://x"}}]}`,
		)
		if _, err := forward.Load(one, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	c.write(one, "nonsense: [")
	if _, err := forward.Load(one, ""); err == nil || !strings.Contains(err.Error(), one) {
		t.Errorf("error %v, want one of %s", err, one)
	}
}
