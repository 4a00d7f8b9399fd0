package binaries

import (
	"slices"
	"strings"
	"testing"
)

func TestWhatMusterIsBuiltFromIsCompiledBesidePrograms(t *testing.T) {
	r, err := readRecipe(t.Context(), Newest, nil)
	if err != nil {
		t.Fatal(err)
	}
	imports, err := r.importsOfMuster(t.Context(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"muster.dev/muster/", "k8s.io/client-go/"} {
		if !slices.ContainsFunc(imports, func(pkg string) bool { return strings.HasPrefix(pkg, want) }) {
			t.Errorf("no package begins with %s: %v", want, imports)
		}
	}
	if slices.Contains(imports, "context") {
		t.Error("packages of the standard library are among them")
	}
	// An empty module cache is no other case: the go command refuses a module that go.sum lacks though it is there.
	b := build{title: "muster", module: r.module, modfile: r.modfile, packages: imports}
	if _, err := b.fetch(t.Context(), t.Output()); err != nil {
		t.Error(err)
	}
}
