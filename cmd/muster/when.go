package main

import "github.com/spf13/cobra"

func newWhenCommand() *cobra.Command {
	var flags whenFlags
	cmd := &cobra.Command{
		Use:   "when {gang NAME | gang/NAME}",
		Short: "Ask when a gang that waits could start",
		Long: `when asks a muster that runs when a gang could start, if the pods that run end as expected.

Pods say how long they run by spec.activeDeadlineSeconds or the annotation
muster.dev/expected-runtime, as in 90s. With gangs.reserveAfter muster learns it of others from
former pods of the same workload. The end of the rest is unknown. The answer is a time, where ends
are learned another one that is kept in nine of ten cases, and after how many ends that is; or
'no promise' where there is no room even after all ends that are expected. It holds for as long as
nobody else takes the room: with gangs.reserveAfter muster books it for the first gang, by
priority and then by age, that has waited for so long.

` + whomItAsks + `

The exit status is 0 where a time is told, or the gang has room now or does not wait, 3 where
there is no promise, 1 after a failure and 2 after a wrong command line.`,
		Example: `  # When does my gang start?
  muster when gang/training -n lab`,
		Args: func(cmd *cobra.Command, args []string) (err error) {
			flags.about, err = subjectOf(cmd, args, false, gangType())
			return err
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return flags.run(cmd) },
		ValidArgsFunction: func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			return completeSubject(cmd, &flags.remoteFlags, args, begun, flags.namespace, gangType())
		},
	}
	flags.register(cmd.Flags(), "")
	flags.output.register(cmd.Flags(), false)
	registerNamespace(cmd.Flags(), &flags.namespace, "the gang")
	return cmd
}

type whenFlags struct {
	remoteFlags
	about     subject
	namespace string
	output    outputFlag
}

func (f *whenFlags) run(cmd *cobra.Command) error {
	out, err := f.output.printer(cmd)
	if err != nil {
		return err
	}
	name, err := f.about.in(cmd, f.namespace)
	if err != nil {
		return err
	}
	asked, err := f.client(cmd, "")
	if err != nil {
		return err
	}
	defer asked.stop()
	forecasts, err := asked.muster.When(cmd.Context(), name.in(asked.namespace), name.name)
	asked.tell(cmd, out.data() || err != nil)
	if err != nil {
		return err
	}
	if err := out.print(cmd.OutOrStdout(), forecasts); err != nil {
		return err
	}
	if !forecasts.Promises() {
		return statusError(exitWaits)
	}
	return nil
}
