package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

// run executes one command line and returns the exit status.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRootCommand()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	if status, ok := errors.AsType[statusError](err); ok {
		return int(status)
	}
	for _, line := range errorLines(err) {
		fmt.Fprintf(stderr, "muster: %s\n", line)
	}
	if usage, ok := errors.AsType[*usageError](err); ok {
		fmt.Fprintf(stderr, "Run '%s --help' for usage.\n", usage.command)
		return usage.status()
	}
	return exitFailure
}

// statusError is the end of a command that did its work, and tells something by its status.
type statusError int

func (s statusError) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "muster",
		Short: "A scheduler extender that stands beside a stock kube-scheduler",
		Long: `muster stands beside a stock kube-scheduler and is registered as its extender: the
scheduler asks it which nodes a pod fits (filter), which of them are best
(prioritize), what to evict (preempt), and lets it bind the pod (bind).

Two commands make a pair: one prints the configuration that tells kube-scheduler
about muster, the other runs muster. Three more, status, explain and why, ask a muster
that runs. All that ask a muster or a cluster find it as kubectl does: by --kubeconfig and
--context, else by $KUBECONFIG, else by ~/.kube/config; also as a plugin of kubectl.

The exit status is 0 after a clean end, 1 after a failure and 2 after a wrong command
line, unless a command says otherwise.`,
		Example: `  # Write a configuration for kube-scheduler, then run muster beside it.
  muster scheduler-config --kubeconfig ~/.kube/config > scheduler.yaml
  muster serve --kubeconfig ~/.kube/config
  kube-scheduler --config scheduler.yaml

  # Try it without any cluster.
  kubectl get nodes,pods -A -o yaml > dump.yaml
  muster serve --snapshot dump.yaml`,
		Version:       buildInfo().Main.Version,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(
		newServeCommand(),
		newConfigCommand(),
		newSchedulerConfigCommand(),
		newPlanCommand(),
		newReportCommand(),
		newRescheduleCommand(),
		newExplainCommand(),
		newWhyCommand(),
		newTryCommand(),
		newWhenCommand(),
		newSimulateCommand(),
		newStatusCommand(),
		newPreflightCommand(),
		newInstallCommand(),
		newUninstallCommand(),
		newReleaseCommand(),
		newGatePolicyCommand(),
		newAccountPolicyCommand(),
		newManagedPolicyCommand(),
		newSchedulerPolicyCommand(),
		newVersionCommand(),
	)
	tellStatus(root)
	return group(root)
}

// tellStatus has the help of each command that has no exit status of its own say which ones there are.
func tellStatus(cmd *cobra.Command) {
	for _, child := range cmd.Commands() {
		tellStatus(child)
	}
	if !cmd.HasSubCommands() && !strings.Contains(cmd.Long, "exit status") {
		cmd.Long += "\n\nThe exit status is 0 after a clean end, 1 after a failure and 2 after a wrong command line."
	}
}

// group makes a command that only holds others refuse unknown names and answer with
// its help when it is given none.
func group(cmd *cobra.Command) *cobra.Command {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		message := fmt.Sprintf("unknown command %q", args[0])
		if similar := cmd.SuggestionsFor(args[0]); len(similar) > 0 {
			message += ", did you mean " + strings.Join(similar, " or ") + "?"
		}
		return usagef(cmd, "%s", message)
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	return cmd
}

// usageError is a mistake in the command line of a command.
type usageError struct {
	command string
	err     error
	failure bool // it ends with the exit status of any other error
}

// asFailure makes a wrong command line end like any other error, where the usual exit status
// says something else.
func asFailure(err error) error {
	if usage, ok := errors.AsType[*usageError](err); ok {
		usage.failure = true
	}
	return err
}

func (e *usageError) status() int {
	if e.failure {
		return exitFailure
	}
	return exitUsage
}

func usagef(cmd *cobra.Command, format string, args ...any) error {
	return &usageError{command: cmd.CommandPath(), err: fmt.Errorf(format, args...)}
}

func (e *usageError) Error() string { return e.err.Error() }

func (e *usageError) Unwrap() error { return e.err }

// errorLines returns one line for each error that err is made of.
func errorLines(err error) []string {
	all, ok := errors.AsType[utilerrors.Aggregate](err)
	if !ok {
		return []string{err.Error()}
	}
	var lines []string
	for _, e := range all.Errors() {
		lines = append(lines, e.Error())
	}
	return lines
}
