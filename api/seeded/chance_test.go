package seeded

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// chance is a way for a test to fail though nothing is wrong.
type chance struct {
	// word is in every line that found matches; to look for it takes less.
	word    string
	found   *regexp.Regexp
	instead string
	// allowed are reasons to do so all the same, by the end of a path.
	allowed map[string]string
	// harmless is a line that is none, though it looks like one.
	harmless *regexp.Regexp
}

// chances are looked for in tests, and in all of e2e, which is there to test.
func chances() []chance {
	const drawing = `(Seed|(Int|Uint)(31|32|63|64)?n?|Int(32|64)?N|Uint(32|64)?N|N|Perm|Shuffle|Float32|Float64|NormFloat64|ExpFloat64)`
	return []chance{
		{
			"time.Sleep(", regexp.MustCompile(`\btime\.Sleep\(`), "wait for what must happen, or for the clock of a bubble of testing/synctest",
			map[string]string{"conformance/inflight.go": "it makes calls overlap, and no verdict depends on how long they do"},
			regexp.MustCompile(`// in a bubble$|time\.Sleep\(time\.Hour\)$`), // the latter is a child process that its test kills
		},
		{
			"rand.", regexp.MustCompile(`(^|[^.\w])rand\.` + drawing + `\(`), "draw from a generator that the test makes of a seed",
			map[string]string{"process/port.go": "any port that is free will do, and every process looks elsewhere"},
			regexp.MustCompile(`rand\.Int\(rand\.Reader`),
		},
		{
			".Unix", regexp.MustCompile(`(?i)(seed|rand\.New|PCG).*\.Unix(Nano|Milli|Micro)?\(\)`),
			"take a constant seed, and let a variable replace it", nil, nil,
		},
		{
			"rapid.Check(", regexp.MustCompile(`\brapid\.Check\(`), "check with seeded.Check",
			map[string]string{"seeded/seeded.go": "it is the one that does"},
			nil,
		},
		{"Listen", regexp.MustCompile(`\bListen(AndServe|AndServeTLS|Packet|TCP)?\(.*:[1-9]\d*"`), "listen on port 0", nil, nil},
	}
}

// of returns what a line leaves to chance and what to do instead, "" if nothing.
func (c chance) of(path, line string) string {
	if !strings.Contains(line, c.word) {
		return ""
	}
	line = strings.TrimSpace(line)
	if strings.HasPrefix(line, "//") || !c.found.MatchString(line) || c.harmless != nil && c.harmless.MatchString(line) {
		return ""
	}
	for end := range c.allowed {
		if strings.HasSuffix(path, end) {
			return ""
		}
	}
	return fmt.Sprintf("%q leaves the test to chance: %s", line, c.instead)
}

func TestNothingOfATestIsLeftToChance(t *testing.T) {
	const root = "../.."
	read, all := 0, chances()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && (name == "testdata" || name == "build" || name == "dist" || strings.HasPrefix(name, ".")):
			return filepath.SkipDir
		case name == "chance_test.go" || !strings.HasSuffix(name, ".go"):
			return nil
		}
		path = strings.TrimPrefix(filepath.ToSlash(path), root+"/")
		if !strings.HasSuffix(name, "_test.go") && !strings.HasPrefix(path, "e2e/") {
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			return err
		}
		read++
		for _, c := range all {
			if !strings.Contains(string(text), c.word) {
				continue
			}
			for i, line := range strings.Split(string(text), "\n") {
				if found := c.of(path, line); found != "" {
					t.Errorf("%s:%d: %s", path, i+1, found)
				}
			}
		}
		return nil
	})
	if err != nil || read < 100 {
		t.Errorf("read %d files: %v", read, err)
	}
}

func TestWhatIsLeftToChanceIsFound(t *testing.T) {
	for line, found := range map[string]bool{
		`time.Sleep(time.Second)`:                                       true,
		`time.Sleep(after) //nolint:forbidigo // in a bubble`:           false,
		`time.Sleep(time.Hour)`:                                         false,
		`// nobody calls time.Sleep(1)`:                                 false,
		`x := rand.IntN(4)`:                                             true,
		`rand.Shuffle(len(all), swap)`:                                  true,
		`w.rand.IntN(4)`:                                                false,
		`rand.New(rand.NewPCG(seed, 0))`:                                false,
		`serial, err := rand.Int(rand.Reader, most)`:                    false,
		`rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))`:       true,
		`seed := time.Now().UnixNano()`:                                 true,
		`SerialNumber: big.NewInt(now.UnixNano()),`:                     false,
		`rapid.Check(t, func(t *rapid.T) {`:                             true,
		`seeded.Check(t, func(t *rapid.T) {`:                            false,
		`listener, err := net.Listen("tcp", "127.0.0.1:8887")`:          true,
		`http.ListenAndServe(":8080", nil)`:                             true,
		`listener, err := net.Listen("tcp", "127.0.0.1:0")`:             false,
		`Hosts: access.NewHosts("127.0.0.1:8887", listens("127.0.0.1")`: false,
	} {
		got := false
		for _, c := range chances() {
			got = got || c.of("some/some_test.go", line) != ""
		}
		if got != found {
			t.Errorf("%s: found %t, want %t", line, got, found)
		}
	}
}
