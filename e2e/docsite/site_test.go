package docsite

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func files(contents map[string]string) fs.FS {
	all := fstest.MapFS{}
	for name, content := range contents {
		all[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return all
}

func TestTheSiteOfThisRepositoryHasNoLinkThatLeadsNowhereAndEveryPageIsFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	site := Site{Repository: os.DirFS("../.."), Source: "https://example.com/source", Branch: "main"}
	if err := site.Build(dir); err != nil {
		t.Fatal(err)
	}
	for _, err := range Check(os.DirFS(dir)) {
		t.Error(err)
	}
}

// table is a page that the navigation can be made of.
const table = "| first steps | |\n| --- | --- |\n| [Install](install.md) | how to |\n"

func TestLinksAreRewrittenForTheSite(t *testing.T) {
	t.Parallel()
	site := Site{Source: "https://example.com/source", Branch: "main", Repository: files(map[string]string{
		"README.md":      "# muster\n[docs](docs/README.md) [a heading](docs/install.md#how-to-do-it-1) [code](cmd) ![a](docs/a.png)\n",
		"docs/README.md": table,
		"docs/install.md": "# Install\n## How to `do` it\n## How to [do](#install) it\n" +
			"[up](../README.md) [file](../cmd/main.go) [e](https://example.org)\n",
		"docs/a.png":  "",
		"cmd/main.go": "",
	})}
	dir := t.TempDir()
	if err := site.Build(dir); err != nil {
		t.Fatal(err)
	}
	for page, wants := range map[string][]string{
		"index.html": {
			`<a href="docs/index.html">docs</a>`, `<a href="docs/install.html#how-to-do-it-1">a heading</a>`,
			`<a href="https://example.com/source/tree/main/cmd">code</a>`, `<img src="docs/a.png" alt="a">`, `<title>muster</title>`,
			`<li><a href="docs/install.html" title="how to">Install</a></li>`,
		},
		"docs/install.html": {
			`<h2 id="how-to-do-it">How to <code>do</code> it</h2>`, `<h2 id="how-to-do-it-1">How to <a href="#install">do</a> it</h2>`,
			`<a href="../index.html">up</a>`, `<a href="https://example.com/source/blob/main/cmd/main.go">file</a>`,
			`<a href="https://example.org">e</a>`, `<title>Install · muster</title>`,
			`<li><a href="install.html" title="how to" aria-current="page">Install</a></li>`,
			`<a href="https://example.com/source/blob/main/docs/install.md">`,
		},
	} {
		content, err := fs.ReadFile(os.DirFS(dir), page)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range wants {
			if !strings.Contains(string(content), want) {
				t.Errorf("%s has no %s:\n%s", page, want, content)
			}
		}
	}
	for _, err := range Check(os.DirFS(dir)) {
		t.Error(err)
	}
}

func TestAPageThatLeadsNowhereIsNotBuilt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, readme, want string }{
		{"a page", "[x](gone.md)", `README.md: the link to "gone.md": open gone.md: file does not exist`},
		{"a file of the source", "[x](cmd/gone.go)", `README.md: the link to "cmd/gone.go": open cmd/gone.go: file does not exist`},
		{"a picture", "![x](gone.png)", `README.md: the link to "gone.png": open gone.png: file does not exist`},
	} {
		t.Run(c.name, func(t *testing.T) {
			site := Site{Repository: files(map[string]string{"README.md": c.readme, "docs/README.md": table, "docs/install.md": ""})}
			if err := site.Build(t.TempDir()); err == nil || err.Error() != c.want {
				t.Errorf("the error is %v, want %s", err, c.want)
			}
		})
	}
}

func TestAPageThatNoLinkLeadsToIsToldOf(t *testing.T) {
	t.Parallel()
	site := Site{Repository: files(map[string]string{
		"README.md": "[docs](docs/README.md)", "docs/README.md": table, "docs/install.md": "", "docs/lost.md": "[install](install.md)",
	})}
	if err := site.Build(t.TempDir()); err == nil || err.Error() != "no way leads from README.md to docs/lost.md" {
		t.Errorf("the error is %v", err)
	}
}

func TestWithoutATableThereIsNoNavigation(t *testing.T) {
	t.Parallel()
	for _, contents := range []string{"no table", "| a | |\n| --- | --- |\n| no link | x |\n"} {
		site := Site{Repository: files(map[string]string{"README.md": "", "docs/README.md": contents})}
		if err := site.Build(t.TempDir()); err == nil {
			t.Errorf("a site is built of %q", contents)
		}
	}
}

func TestTheCheckFindsWhatLeadsNowhere(t *testing.T) {
	t.Parallel()
	site := files(map[string]string{
		"index.html": `<p id="here"><a href="#here"></a><a href="sub/a.html#there"></a><a href="https://example.com/gone"></a><img src="a.png">
<a href="gone.html"></a><a href="#gone"></a><a href="sub/a.html#gone"></a><img src="gone.png"><a href="a.png#x"></a>
<a href="sub"></a><a href="/sub/a.html"></a><img src="https://example.com/a.png"><link href="https://example.com/a.css">`,
		"sub/a.html": `<h1 id="there"></h1><a href="../index.html#here"></a><a href="../../index.html"></a>`,
		"a.png":      "",
	})
	want := []string{
		`index.html: <a> to "gone.html": open gone.html: file does not exist`,
		`index.html: <a> to "#gone": index.html has no element of that id`,
		`index.html: <a> to "sub/a.html#gone": sub/a.html has no element of that id`,
		`index.html: <img> to "gone.png": open gone.png: file does not exist`,
		`index.html: <a> to "a.png#x": a.png has no element of that id`,
		`index.html: <a> to "sub": sub is a directory`,
		`index.html: <a> to "/sub/a.html": it is right only where the site is at the root of its host`,
		`index.html: <img> to "https://example.com/a.png": it would be loaded from another site`,
		`index.html: <link> to "https://example.com/a.css": it would be loaded from another site`,
		`sub/a.html: <a> to "../../index.html": open ../index.html: file does not exist`,
	}
	if diff := cmp.Diff(strings.Join(want, "\n"), errors.Join(Check(site)...).Error()); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if len(Check(files(nil))) == 0 {
		t.Error("a site without a page has no problem")
	}
}
