package main

import (
	"context"

	"github.com/spf13/cobra"

	"muster.dev/muster/inspect"
	"muster.dev/muster/server/remote"
)

// exitWaits tells scripts of what waits, or does not go on.
const exitWaits = 3

func newWhyCommand(beside local) *cobra.Command {
	flags := whyFlags{remoteFlags: remoteFlags{beside: beside}}
	cmd := &cobra.Command{
		Use:   "why {gang/NAME | plan/NAME | pod/NAME}",
		Short: "Ask why a gang waits, a plan does not go on or a pod has no node",
		Long: `why asks a muster that runs why something waits.

Of a gang it tells what it waits for, how many members its quorum is and how many of them
are yet to be created, on which nodes room is kept for it, and of members without a place
on how many nodes each would fit by itself, and what refuses the others. Members that are
alike are told of together, and nothing is asked of more than eight. With -o wide it lists
every member.

Of a ReschedulingPlan it tells how far it is, at which step it stands, what it waits for,
and which budgets of the rescheduler are used up.

Of a pod it tells what 'muster explain' does. Names are as there: TYPE/NAME, or TYPE and
NAME, or NAMESPACE/NAME after the type.

` + whomItAsks + `

The exit status is 0 for a gang that does not wait, a plan that is carried out or was, and a
pod that is bound or fits on a node, 3 for others, 1 after a failure and 2 after a wrong
command line.`,
		Example: `  # Why does my gang wait?
  muster why gang/training -n lab

  # Why are no pods moved?
  kubectl muster why plan makeroom-x7k2p --context production`,
		Args: func(cmd *cobra.Command, args []string) (err error) {
			flags.about, err = subjectOf(cmd, args, false, gangType(), planType(), podType())
			return err
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return flags.run(cmd) },
		ValidArgsFunction: func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			return completeSubject(cmd, &flags.remoteFlags, args, begun, flags.namespace, gangType(), planType(), podType())
		},
	}
	flags.register(cmd.Flags(), "")
	flags.output.register(cmd.Flags(), true)
	registerNamespace(cmd.Flags(), &flags.namespace, "the gang or the pod")
	registerRescheduler(cmd.Flags(), &flags.rescheduler)
	return cmd
}

type whyFlags struct {
	remoteFlags
	about                  subject
	output                 outputFlag
	namespace, rescheduler string
}

func (f *whyFlags) run(cmd *cobra.Command) error {
	out, err := f.output.printer(cmd)
	if err != nil {
		return err
	}
	name, err := f.about.in(cmd, f.namespace)
	if err != nil {
		return err
	}
	asked, err := f.client(cmd, f.rescheduler)
	if err != nil {
		return err
	}
	defer asked.stop()
	answer, waits, err := f.ask(cmd.Context(), asked, name)
	if err != nil {
		return err
	}
	if err := out.print(cmd.OutOrStdout(), answer); err != nil {
		return err
	}
	if waits {
		return statusError(exitWaits)
	}
	return nil
}

// ask asks why, and whether it waits.
func (f *whyFlags) ask(ctx context.Context, asked *asked, name qualified) (answer inspect.Answer, waits bool, err error) {
	switch f.about.of.String() {
	case gangType().String():
		var reasons *remote.GangReasons
		if reasons, err = asked.muster.WhyGang(ctx, name.in(asked.namespace), name.name); err == nil {
			return reasons, reasons.Waits(), nil
		}
	case planType().String():
		var reason *remote.PlanReason
		if reason, err = asked.muster.WhyPlan(ctx, name.name, asked.rescheduler); err == nil {
			return reason, !reason.GoesOn(), nil
		}
	default:
		var explanation *remote.Explanation
		if explanation, err = asked.muster.Explain(ctx, name.in(asked.namespace), name.name); err == nil {
			return explanation, !explanation.Placed(), nil
		}
	}
	return nil, false, err
}
