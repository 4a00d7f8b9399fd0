package house

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// The most that there may be.
const (
	mostMethods  = 40
	mostFields   = 20
	mostVersions = 6
	columns      = 140
)

// Report holds the measurements.
type Report struct {
	methods, fields []*size // of too large types, the largest first, and at least one
	sideways        []string
	nilChecks       int
	versions        []string // files
	long            int
	shape           shape
	words           []place
	unused          []exception
}

// Measure measures the main module at a root, and the prose of all modules.
func Measure(root string) (*Report, error) {
	files, err := read(root)
	if err != nil {
		return nil, err
	}
	packages, _, err := readPage(root)
	if err != nil {
		return nil, err
	}
	words, unused, err := listedWords(root, exceptions())
	if err != nil {
		return nil, err
	}
	all := sizes(files)
	r := &Report{
		methods:   largest(all, mostMethods, func(s *size) int { return s.methods }),
		fields:    largest(all, mostFields, func(s *size) int { return s.fields }),
		sideways:  packages.sideways(files),
		nilChecks: nilChecks(files, "server/extender", verbTypes()),
		long:      longLines(files, columns),
		shape:     shapeOf(files),
		words:     words,
		unused:    unused,
	}
	for _, f := range files {
		if !f.test && !within(f.dir(), "api/config") && slices.ContainsFunc(f.imports(), isVersion) {
			r.versions = append(r.versions, f.path)
		}
	}
	return r, nil
}

// verbTypes are the types that answer the verbs.
func verbTypes() []string {
	return []string{"Extender", "picker", "pods", "members", "reserved", "nominated", "inFlight", "takes", "unknownMembers", "preemption"}
}

// isVersion says whether a package is a version of the configuration.
func isVersion(dir string) bool { return strings.HasPrefix(dir, "api/config/v1") }

// largest returns the sizes with a figure beyond a bound, and the largest one in any case.
func largest(all []*size, bound int, figure func(*size) int) []*size {
	sorted := slices.SortedFunc(slices.Values(all), func(a, b *size) int { return figure(b) - figure(a) })
	end := slices.IndexFunc(sorted, func(s *size) bool { return figure(s) <= bound })
	if end < 0 {
		end = len(sorted)
	}
	return sorted[:min(len(sorted), max(1, end))]
}

// Print prints what is beyond a bound by name, and the figures.
func (r *Report) Print(out io.Writer) {
	for _, s := range r.methods {
		fmt.Fprintf(out, "%s has %d methods (%d at most)\n", s.name, s.methods, mostMethods)
	}
	for _, s := range r.fields {
		fmt.Fprintf(out, "%s has %d fields (%d at most)\n", s.name, s.fields, mostFields)
	}
	for _, wrong := range r.sideways {
		fmt.Fprintln(out, wrong)
	}
	if len(r.versions) > mostVersions {
		fmt.Fprintf(out, "a version of the configuration is imported by %s\n", strings.Join(r.versions, " "))
	}
	for _, c := range byPackage(r.words) {
		fmt.Fprintf(out, "listed words in %s: %d\n", c.dir, c.words)
	}
	for _, e := range r.unused {
		fmt.Fprintf(out, "nothing in %s needs the exception %q\n", e.path, e.text)
	}
	for _, pair := range r.shape.circles {
		fmt.Fprintf(out, "%s and %s import each other's packages\n", pair[0], pair[1])
	}
	fmt.Fprintf(out, "these judge what if for themselves: %s\n", strings.Join(r.shape.supposing, " "))
	fmt.Fprintf(out, "these assume pods on nodes: %s\n", strings.Join(r.shape.assuming, " "))
	largest := func(all []*size, figure func(*size) int) int {
		if len(all) == 0 {
			return 0
		}
		return figure(all[0])
	}
	fmt.Fprintf(out, "figure max_methods_of_a_type=%d\n", largest(r.methods, func(s *size) int { return s.methods }))
	fmt.Fprintf(out, "figure max_fields_of_a_type=%d\n", largest(r.fields, func(s *size) int { return s.fields }))
	fmt.Fprintf(out, "figure sideways_imports=%d\n", len(r.sideways))
	fmt.Fprintf(out, "figure nil_checks_in_verbs=%d\n", r.nilChecks)
	fmt.Fprintf(out, "figure files_importing_a_config_version=%d\n", len(r.versions))
	fmt.Fprintf(out, "figure lines_over_140=%d\n", r.long)
	fmt.Fprintf(out, "figure listed_words=%d\n", len(r.words))
	fmt.Fprintf(out, "figure product_lines=%d\n", r.shape.lines)
	fmt.Fprintf(out, "figure options=%d\n", r.shape.options)
	fmt.Fprintf(out, "figure what_if_models=%d\n", len(r.shape.supposing))
	fmt.Fprintf(out, "figure places_that_assume=%d\n", len(r.shape.assuming))
	fmt.Fprintf(out, "figure files_per_package=%.1f\n", r.shape.filesPerPackage())
	fmt.Fprintf(out, "figure circles=%d\n", len(r.shape.circles))
}

// PrintWords prints where listed words stand.
func (r *Report) PrintWords(out io.Writer) {
	for _, p := range r.words {
		fmt.Fprintf(out, "%s:%d: %s\n", p.path, p.line, p.word)
	}
}
