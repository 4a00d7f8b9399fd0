package docs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// goBlock is a block of Go in a page. Its info string names the file of the repository that it is for:
//
//	go predicates/nodepool.go            declarations of that file
//	go api/config/plugins.go []Plugin    elements of a list of that type
//	go fragment                          nothing that compiles
type goBlock struct {
	page, section string
	line          int // of the page, on which its text begins
	file, list    string
	text          string
}

// told lists what the steps of a section ask of a reader in words alone, by section and package.
var told = map[string]map[string]string{
	"Adding a predicate": {
		"api/config":      `const NodePool = "NodePool"`,
		"predicates":      `const poolDiffers Verdict = 1000`,
		"e2e/conformance": "func givePool(*source, *corev1.Node) {}\nfunc askForPool(*source, *corev1.Pod) {}",
	},
	"Adding a score with arguments": {
		"api/config": "const NodeLabel = \"NodeLabel\"\ntype NodeLabelArgs struct{}\nfunc (*NodeLabelArgs) setDefaults() {}\n" +
			"func (*NodeLabelArgs) validate(*field.Path) field.ErrorList { return nil }",
	},
	"Adding a fault": {
		"e2e/campaigns/gangfaults":    `const nodeTainted faultcampaign.Fault = "node tainted"`,
		"e2e/campaigns/faultcampaign": "func (*Lane) Taint(context.Context, string) error { return nil }",
	},
}

func TestGoBlocksOfThePagesCompile(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string][]goBlock{}
	for _, page := range pages(t, root) {
		content, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		blocks, problems := goBlocksOf(page, string(content))
		for _, problem := range problems {
			t.Error(problem)
		}
		for _, b := range blocks {
			sections[b.section] = append(sections[b.section], b)
		}
	}
	if len(sections) < 5 {
		t.Errorf("%d sections have blocks of Go: are they read as they are written?", len(sections))
	}
	for section := range told {
		if sections[section] == nil {
			t.Errorf("told[%q]: no page has that section with a block of Go", section)
		}
	}
	for _, section := range slices.Sorted(maps.Keys(sections)) {
		t.Run(section, func(t *testing.T) {
			if err := compile(t.TempDir(), root, sections[section], told[section]); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAGoBlockThatDoesNotCompileIsNamedByItsPage(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":      "module example.com/m\n\ngo 1.26\n",
		"p/p.go":      "package p\n\nimport \"strings\"\n\nfunc up(s string) string { return strings.ToUpper(s) }\n",
		"p/p_test.go": "package p\n\nfunc down(s string) string { return s }\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct{ name, page, told, problem string }{
		{name: "declarations that use an import of the package", page: "```go p/new.go\nvar a = strings.ToLower(up(\"a\"))\n```\n"},
		{
			name: "elements of a list, in a list of the page",
			page: "1. one\n\n   ```go p/p.go []func(string) string\n   up, strings.ToLower,\n   ```\n",
		},
		{name: "a test that uses a function of tests", page: "```go p/new_test.go\nvar a = down(\"a\")\n```\n"},
		{name: "what words tell", page: "```go p/new.go\nvar a = other\n```\n", told: "var other = up(\"b\")"},
		{name: "a fragment", page: "```go fragment\nif a {\n```\n"},
		{name: "a name that there is not", page: "a\n\n```go p/new.go\nvar b = 1\nvar a = gone\n```\n", problem: "page.md:5: undefined: gone"},
		{name: "a brace that is missing", page: "```go p/new.go\nfunc a() {\n```\n", problem: "page.md:2: "},
		{name: "a package that there is not", page: "```go q/q.go\nvar a = 1\n```\n", problem: "page.md:2: q"},
		{name: "no file", page: "```go\nvar a = 1\n```\n", problem: "page.md:1: the block says neither"},
		{name: "no end", page: "```go p/new.go\nvar a = 1\n", problem: "page.md:1: the block has no end"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			blocks, problems := goBlocksOf("page.md", test.page)
			if err := compile(t.TempDir(), root, blocks, map[string]string{"p": test.told}); err != nil {
				problems = append(problems, err)
			}
			if got := fmt.Sprint(problems); (test.problem == "") != (len(problems) == 0) || !strings.Contains(got, test.problem) {
				t.Errorf("problems %s, want %q", got, test.problem)
			}
		})
	}
}

// pages are all Markdown files of the repository, except in hidden directories and in what is built.
func pages(t *testing.T, root string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(name string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := entry.Name()
		skipped := strings.HasPrefix(base, ".") || slices.Contains([]string{"bin", "build", "dist", "testdata"}, base)
		if entry.IsDir() && name != root && skipped {
			return filepath.SkipDir
		}
		if !entry.IsDir() && filepath.Ext(name) == ".md" {
			relative, err := filepath.Rel(root, name)
			names = append(names, relative)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// goBlocksOf reads the blocks of a page that are to compile. A block in a list is indented.
func goBlocksOf(page, text string) (blocks []goBlock, problems []error) {
	section, fence := "", -1 // fence is the indent of the block of another language that a line is in
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		bare := strings.TrimLeft(lines[i], " ")
		info, opens := strings.CutPrefix(bare, "```")
		language, info, _ := strings.Cut(info, " ")
		switch {
		case fence >= 0:
			if opens && info == "" {
				fence = -1
			}
		case strings.HasPrefix(lines[i], "## "):
			section = strings.TrimPrefix(lines[i], "## ")
		case opens && language != "go":
			fence = len(lines[i]) - len(bare)
		case opens:
			b := goBlock{page: page, section: section, line: i + 2}
			b.file, b.list, _ = strings.Cut(info, " ")
			indent := lines[i][:len(lines[i])-len(bare)]
			var text []string
			for i++; i < len(lines) && strings.TrimSpace(lines[i]) != "```"; i++ {
				text = append(text, strings.TrimPrefix(lines[i], indent))
			}
			b.text = strings.Join(text, "\n") + "\n"
			switch {
			case i == len(lines):
				problems = append(problems, fmt.Errorf("%s:%d: the block has no end", page, b.line-1))
			case info == "fragment":
			case path.Ext(b.file) != ".go":
				problems = append(problems, fmt.Errorf("%s:%d: the block says neither the file that it is for nor fragment", page, b.line-1))
			default:
				blocks = append(blocks, b)
			}
		}
	}
	return blocks, problems
}

// compile puts blocks into their packages, with declarations by package, and has the go command compile these with their
// tests. No file of the repository changes.
func compile(scratch, root string, blocks []goBlock, declared map[string]string) error {
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	put := func(dir, name, text string) error {
		file := filepath.Join(scratch, strconv.Itoa(len(overlay.Replace))+".go")
		overlay.Replace[filepath.Join(root, dir, name)] = file
		return os.WriteFile(file, []byte(text), 0o600)
	}
	packages := map[string][]string{} // by the directory of their module
	for _, b := range blocks {
		dir := path.Dir(b.file)
		source, err := source(filepath.Join(root, dir), b.declarations(root), fmt.Sprintf("%s:%d", b.page, b.line))
		if err != nil {
			return err
		}
		if err := put(dir, fmt.Sprintf("page%d%s", b.line, suffix(b.file)), source); err != nil {
			return err
		}
		module := moduleOf(root, dir)
		relative, err := filepath.Rel(module, dir)
		if err != nil {
			return err
		}
		packages[module] = append(packages[module], "./"+filepath.ToSlash(relative))
	}
	for dir, text := range declared {
		source, err := source(filepath.Join(root, dir), text, "told: "+dir)
		if err != nil {
			return err
		}
		if err := put(dir, "told.go", source); err != nil {
			return err
		}
	}
	content, err := json.Marshal(overlay)
	if err != nil {
		return err
	}
	file := filepath.Join(scratch, "overlay.json")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		return err
	}
	for _, module := range slices.Sorted(maps.Keys(packages)) {
		if module != "." && testing.Short() {
			continue // what these import takes minutes to compile
		}
		args := append([]string{"list", "-export", "-test", "-overlay", file}, packages[module]...)
		cmd := exec.Command("go", args...)
		cmd.Dir, cmd.Env = filepath.Join(root, module), append(os.Environ(), "GOWORK=off")
		if output, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, output)
		}
	}
	return nil
}

// declarations reads a block as declarations with the lines of the page.
func (b goBlock) declarations(root string) string {
	text := fmt.Sprintf("//line %s:%d\n%s", filepath.Join(root, b.page), b.line, b.text)
	if b.list != "" {
		return "var _ = " + b.list + "{\n" + text + "}\n"
	}
	return text
}

// suffix keeps a block of a test among the tests.
func suffix(file string) string {
	if strings.HasSuffix(file, "_test.go") {
		return "_test.go"
	}
	return ".go"
}

// moduleOf is the directory of the module that a directory is in.
func moduleOf(root, dir string) string {
	for dir != "." {
		if _, err := os.Stat(filepath.Join(root, dir, "go.mod")); err == nil {
			break
		}
		dir = path.Dir(dir)
	}
	return dir
}

// source makes a file of declarations: in the package of a directory, with those imports of its files that they use.
func source(dir, declarations, at string) (string, error) {
	name, known, err := importsIn(dir)
	if err != nil {
		return "", fmt.Errorf("%s: %w", at, err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), "", "package "+name+"\n"+declarations, 0)
	if err != nil {
		return "", fmt.Errorf("%s: %w", at, err)
	}
	unresolved := map[*ast.Ident]bool{}
	for _, ident := range file.Unresolved {
		unresolved[ident] = true
	}
	used := map[string]bool{}
	ast.Inspect(file, func(node ast.Node) bool {
		if selector, is := node.(*ast.SelectorExpr); is {
			if ident, is := selector.X.(*ast.Ident); is && unresolved[ident] && known[ident.Name] != "" {
				used[ident.Name] = true
			}
		}
		return true
	})
	var text strings.Builder
	fmt.Fprintf(&text, "package %s\n\n", name)
	for _, as := range slices.Sorted(maps.Keys(used)) {
		fmt.Fprintf(&text, "import %s %q\n", as, known[as])
	}
	return text.String() + "\n" + declarations, nil
}

// importsIn tells the name of the package in a directory, and what its files import, by the name that it has there.
func importsIn(dir string) (name string, known map[string]string, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s: no Go file", filepath.Base(dir))
	}
	known = map[string]string{}
	for _, file := range files {
		parsed, parseErr := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if parseErr != nil {
			return "", nil, parseErr
		}
		if !strings.HasSuffix(parsed.Name.Name, "_test") {
			name = parsed.Name.Name
		}
		for _, spec := range parsed.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value)
			as := path.Base(imported)
			if spec.Name != nil {
				as = spec.Name.Name
			}
			known[as] = cmp.Or(known[as], imported)
		}
	}
	return name, known, err
}
