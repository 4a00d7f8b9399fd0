package main

import (
	"cmp"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"muster.dev/muster/inspect"
	"muster.dev/muster/server/remote"
)

// serverVariable names the environment variable that is the default of --server.
const serverVariable = "MUSTER_SERVER"

// remoteFlags say which muster is asked, and how.
type remoteFlags struct {
	remote.Options
	snapshot snapshotFlags
}

func (f *remoteFlags) register(flags *pflag.FlagSet) {
	f.snapshot.register(flags)
	flags.StringVar(&f.Server, "server", "", "`URL` of the muster to ask (default: $"+serverVariable+", or "+defaultServer+")")
	flags.StringVar(&f.CertificateAuthority, "certificate-authority", "", "`FILE` of what signed its certificate")
	flags.StringVar(&f.ClientCertificate, "client-certificate", "", "`FILE` of the certificate to ask with")
	flags.StringVar(&f.ClientKey, "client-key", "", "`FILE` of its key")
}

const (
	defaultServer      = "http://127.0.0.1:8887"
	defaultRescheduler = "http://127.0.0.1:8889"
)

// client is who asks. stop must be called when all is asked.
func (f *remoteFlags) client(cmd *cobra.Command) (client *remote.Client, stop func(), err error) {
	if len(f.snapshot.files) == 0 {
		if f.snapshot.config != "" {
			return nil, nil, usagef(cmd, "--config: a muster that runs has a configuration of its own; it is for --snapshot")
		}
		client, err = f.running(cmd)
		return client, func() {}, err
	}
	if f.Options != (remote.Options{}) {
		return nil, nil, usagef(cmd, "--snapshot is answered without asking a muster that runs: leave --server and certificates out")
	}
	return f.snapshot.serve(cmd)
}

// running is who asks a muster that runs.
func (f *remoteFlags) running(cmd *cobra.Command) (*remote.Client, error) {
	options := f.Options
	options.Server = cmp.Or(f.Server, os.Getenv(serverVariable), defaultServer)
	client, err := remote.New(options)
	if err != nil {
		return nil, usagef(cmd, "%w", err)
	}
	return client, nil
}

// Formats of answers.
const (
	formatText = "text"
	formatJSON = "json"
)

// registerOutput adds the flag that outputFormat reads.
func registerOutput(flags *pflag.FlagSet, output *string) {
	flags.StringVarP(output, "output", "o", formatText, "`FORMAT` of the answer: text or json")
}

func outputFormat(cmd *cobra.Command, output string) (inspect.Format, error) {
	if output != formatText && output != formatJSON {
		return "", usagef(cmd, "--output: unknown format %q, supported are %s and %s", output, formatText, formatJSON)
	}
	return inspect.Format(output), nil
}

// flagValues are the flags of a command by name, with the values that they have.
func flagValues(cmd *cobra.Command) map[string]string {
	values := map[string]string{}
	cmd.Flags().VisitAll(func(flag *pflag.Flag) { values[flag.Name] = flag.Value.String() })
	return values
}
