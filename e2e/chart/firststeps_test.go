package chart

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"muster.dev/muster/e2e/lab"
)

// firstBlock is the first block of commands of a page.
var firstBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")

// commandsOf are the commands of the README's first block, a line each, without comments.
func commandsOf(t *testing.T, readme string) []string {
	t.Helper()
	block := firstBlock.FindStringSubmatch(readme)
	if block == nil {
		t.Fatal("the README has no block of commands")
	}
	var commands []string
	for line := range strings.Lines(strings.ReplaceAll(block[1], "\\\n", " ")) {
		if line, _, _ = strings.Cut(line, "   #"); strings.TrimSpace(line) != "" {
			commands = append(commands, strings.TrimSpace(line))
		}
	}
	return commands
}

// A reader with a cluster and an image copies the README's first commands. What they do not do is done by a kubelet: the
// pod of the chart runs.
func TestTheFirstCommandsOfTheReadmePlaceAPod(t *testing.T) {
	lab.Long(t)
	commands := commandsOf(t, textOf(t, repository, "README.md"))
	if len(commands) > 2 {
		t.Errorf("%d commands until a pod is placed:\n%s", len(commands), strings.Join(commands, "\n"))
	}
	c := newCluster(t)
	c.Must(c.StartKWOK(t.Context()))
	c.createNode("a", "", "4")
	environment := fmt.Sprintf("cd %q && PATH=%q:$PATH KUBECONFIG=%q ", repository, c.programs(), c.Kubeconfig())
	began := time.Now()
	for i, command := range commands {
		_, err := said(t.Context(), "sh", "-c", environment+command)
		c.Must(err)
		if i == 0 {
			newKubelet(c).runs("muster")
		}
	}
	c.awaitBound("hello")
	t.Logf("figure steps_to_first_pod=%d", len(commands))
	t.Logf("figure seconds_to_first_pod=%.1f", time.Since(began).Seconds())
}
