package chart

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
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
	repository, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join(repository, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	commands := commandsOf(t, string(readme))
	if len(commands) > 2 {
		t.Errorf("%d commands until a pod is placed:\n%s", len(commands), strings.Join(commands, "\n"))
	}
	c := newCluster(t)
	c.must(c.StartKWOK(t.Context()))
	(&smoke{cluster: c}).createNode("a", "", "4")
	path := t.TempDir() // has the programs that the commands name
	for name, program := range map[string]string{"helm": programs.helm, "kubectl": c.kubectl()} {
		c.must(os.Symlink(program, filepath.Join(path, name)))
	}
	environment := fmt.Sprintf("cd %q && PATH=%q:$PATH KUBECONFIG=%q ", repository, path, c.Kubeconfig())
	began := time.Now()
	for i, command := range commands {
		_, err := said(t.Context(), nil, "sh", "-c", environment+command)
		c.must(err)
		if i == 0 {
			pod := newKubelet(c).pod("muster")
			pod.start(pod.spec.InitContainers)
			pod.start(pod.spec.Containers)
		}
	}
	err = wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		pod, err := c.client.CoreV1().Pods("default").Get(ctx, "hello", metav1.GetOptions{})
		return err == nil && pod.Spec.NodeName != "", err
	})
	c.must(err)
	t.Logf("figure steps_to_first_pod=%d", len(commands))
	t.Logf("figure seconds_to_first_pod=%.1f", time.Since(began).Seconds())
}
