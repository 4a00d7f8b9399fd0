package main

import (
	"context"

	"github.com/spf13/cobra"

	"muster.dev/muster/api/explanation/v1alpha1"
	"muster.dev/muster/inspect"
)

// exitWaits tells scripts of what waits, or does not go on.
const exitWaits = 3

func whyTypes() []objectType {
	return append([]objectType{gangType(), planType(), podType()}, workloadTypes()...)
}

func newWhyCommand() *cobra.Command {
	var flags whyFlags
	cmd := &cobra.Command{
		Use:   "why {TYPE NAME | TYPE/NAME | -f FILE}",
		Short: "Ask why a gang waits, a plan does not go on or a pod has no node",
		Long: `why asks a muster that runs why something waits.

Of gang/NAME it tells what it waits for, how many members its quorum is and how many of them
are yet to be created, how many would get a place now and how many places are short, on
which nodes room is kept for it, and of members without a place on how many nodes one fits
alone, what refuses the others, what each asks for and how much of it there is. Members that
are alike are told of together. With -o wide it lists every member.

Of plan/NAME, a ReschedulingPlan, it tells how far it is, at which step it stands, what it
waits for, and which budgets of the rescheduler are used up.

Of pod/NAME, and with --filename, it tells what 'muster explain' does. Of what makes pods, as
deployment/NAME, job/NAME or jobset/NAME, it tells which of its pods wait and for what, and
why their gangs do. Names are as there: TYPE/NAME, or TYPE and NAME, or NAMESPACE/NAME after
the type.

` + whomItAsks + askedByQuestion + `

The exit status is 0 for a gang that does not wait, a plan that is carried out or was, and a
pod that is bound or fits on a node, 3 for others, 1 after a failure and 2 after a wrong
command line.`,
		Example: `  # Why does my gang wait?
  muster why gang/training -n lab
  muster why jobset/training -n lab

  # Why are no pods moved?
  kubectl muster why plan makeroom-x7k2p --context production`,
		Args: func(cmd *cobra.Command, args []string) (err error) {
			if flags.manifest != "" {
				flags.about, err = subjectOf(cmd, args, true, explainedTypes()...)
				return err
			}
			flags.about, err = subjectOf(cmd, args, false, whyTypes()...)
			return err
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return flags.run(cmd) },
		ValidArgsFunction: func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			return completeSubject(cmd, &flags.remoteFlags, args, begun, flags.namespace, whyTypes()...)
		},
	}
	flags.remoteFlags.register(cmd.Flags(), "")
	flags.output.register(cmd.Flags(), true)
	flags.question.register(cmd.Flags())
	registerRescheduler(cmd.Flags(), &flags.rescheduler)
	return cmd
}

type whyFlags struct {
	remoteFlags
	question
	output      outputFlag
	rescheduler string
}

func (f *whyFlags) run(cmd *cobra.Command) error {
	out, err := f.output.printer(cmd)
	if err != nil {
		return err
	}
	ask, err := f.why(cmd)
	if err != nil {
		return err
	}
	asked, err := f.client(cmd, f.rescheduler)
	if err != nil {
		return err
	}
	defer asked.stop()
	answer, waits, err := ask(cmd.Context(), asked)
	asked.tell(cmd, out.data() || err != nil)
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

// why returns how to ask why something waits, and whether it does.
func (f *whyFlags) why(cmd *cobra.Command) (func(context.Context, *asked) (answer inspect.Answer, waits bool, err error), error) {
	explain, err := f.explain(cmd)
	if err != nil {
		return nil, err
	}
	name, of := qualified{}, f.about.of
	if f.manifest == "" {
		if name, err = f.about.in(cmd, f.namespace); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context, asked *asked) (inspect.Answer, bool, error) {
		namespace := name.in(asked.namespace)
		switch {
		case f.manifest == "" && of.owner != "":
			owned, err := asked.muster.WhyOwned(ctx, of.owner, namespace, name.name)
			if err != nil {
				return nil, false, err
			}
			return owned, owned.Waits(), nil
		case of.String() == gangType().String():
			reasons, err := asked.muster.WhyGang(ctx, namespace, name.name)
			if asked.denied(err) {
				answer, err := asked.question(ctx, cmd, namespace, v1alpha1.About(v1alpha1.Gang, name.name), err)
				return answer, err == nil && !answer.Placed(), err
			}
			if err != nil {
				return nil, false, err
			}
			return reasons, reasons.Waits(), nil
		case of.String() == planType().String():
			reason, err := asked.muster.WhyPlan(ctx, name.name, asked.rescheduler)
			if err != nil {
				return nil, false, err
			}
			return reason, !reason.GoesOn(), nil
		default:
			told, err := explain(ctx, asked)
			if err != nil {
				return nil, false, err
			}
			return told, !told.Placed(), nil
		}
	}, nil
}
