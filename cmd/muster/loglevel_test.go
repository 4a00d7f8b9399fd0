package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"muster.dev/muster/server/logging"
)

// isMuster is an environment variable by which this test's program is muster.
const isMuster = "MUSTER_TEST_IS_MUSTER"

func TestMain(m *testing.M) {
	if os.Getenv(isMuster) != "" {
		main()
	}
	os.Exit(m.Run())
}

// logOf runs a command until the context ends, and returns its log, whose lines must be read. The command has a process of its
// own: the loggers of client-go are the process's, and its goroutines use them for a while after the command has ended.
func logOf(ctx context.Context, t *testing.T, args ...string) (log *bufio.Scanner, ended <-chan int) {
	t.Helper()
	logs, stderr := io.Pipe()
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), isMuster+"=1")
	cmd.Stdin, cmd.Stderr = strings.NewReader(dump), stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exit := make(chan int, 1)
	go func() {
		_ = cmd.Wait() // the exit status says it
		exit <- cmd.ProcessState.ExitCode()
		stderr.Close()
	}()
	return bufio.NewScanner(logs), exit
}

// awaitLine reads log lines until one has a message, and returns its fields.
func awaitLine(t *testing.T, lines *bufio.Scanner, message string) map[string]any {
	t.Helper()
	for lines.Scan() {
		var line map[string]any
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatalf("log line %q is not JSON: %v", lines.Text(), err)
		}
		if line["msg"] == message {
			return line
		}
	}
	t.Fatalf("the process ended before it logged %q", message)
	return nil
}

func TestServersLogByTheLevelOfTheFile(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	writeKubeconfig(t, kubeconfig)
	for name, args := range map[string][]string{
		"serve":      {"serve", "--snapshot=-", "--listen=127.0.0.1:0", "--debug-listen=127.0.0.1:0"},
		"reschedule": {"reschedule", "--kubeconfig", kubeconfig},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "muster.yaml")
			write := func(level string) {
				t.Helper()
				content := "apiVersion: config.muster.dev/v1alpha2\nkind: MusterConfiguration\n" +
					"rescheduler: {listen: '127.0.0.1:0'}\nlogging: {level: " + level + "}\n"
				if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			write("info")
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			log, ended := logOf(ctx, t, append(args, "--config", file, "--log-format=json")...)
			awaitLine(t, log, "serving")
			write("debug")
			if line := awaitLine(t, log, "another level is logged"); line["before"] != "INFO" || line["now"] != "DEBUG" {
				t.Errorf("of a file of level debug it is logged %v", line)
			}
			write("loud")
			refused, _ := awaitLine(t, log, "changed configuration refused, the one before stays in force")["err"].(string)
			if !strings.Contains(refused, `logging.level: Unsupported value: "loud"`) {
				t.Errorf("a level that is not valid is refused with %s", refused)
			}
			write("error")
			if line := awaitLine(t, log, "another level is logged"); line["before"] != "DEBUG" || line["now"] != "ERROR" {
				t.Errorf("after a refused level it is logged %v, want the one before it in force", line)
			}
			stop()
			for log.Scan() {
				if strings.Contains(log.Text(), `"level":"INFO"`) {
					t.Errorf("by level error it is logged %s", log.Text())
				}
			}
			if code := <-ended; code != exitOK {
				t.Errorf("exit status %d, want 0", code)
			}
		})
	}
}

func TestTheFlagOfTheLevelWinsOverTheFile(t *testing.T) {
	const file = "testdata/tls.yaml" // of level warn
	flags := rescheduleFlags{config: file, log: logFlags{level: "error"}}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	options, err := flags.options(newRescheduleCommand(), &logging.Log{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	changed, _, err := options.File.Decode(content)
	if err != nil || changed.Logging.Level != "error" {
		t.Errorf("with --log-level error a changed file of level warn means %q (%v)", changed.Logging.Level, err)
	}
	flags.log.level = "loud"
	const want = `--log-level: logging.level: Unsupported value: "loud": supported values: "debug", "info", "warn", "error"`
	if _, _, err := options.File.Decode(content); err == nil || err.Error() != want {
		t.Errorf("--log-level loud ends with\n%v\nwant\n%s", err, want)
	}
}
