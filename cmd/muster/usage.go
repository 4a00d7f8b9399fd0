package main

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"muster.dev/muster/api/spelling"
)

// flagError says what is wrong with a flag, and what would be right.
func flagError(cmd *cobra.Command, err error) error {
	if absent, ok := errors.AsType[*pflag.NotExistError](err); ok && len(absent.GetSpecifiedShortnames()) == 0 {
		var names []string
		cmd.Flags().VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
		if nearest := spelling.Nearest(absent.GetSpecifiedName(), names); nearest != "" {
			err = fmt.Errorf("unknown flag: --%s, did you mean --%s?", absent.GetSpecifiedName(), nearest)
		}
	}
	if wrong, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		flag := wrong.GetFlag()
		_, usage := pflag.UnquoteUsage(flag)
		kind := map[string]string{
			"bool": "neither true nor false", "duration": "no duration, such as 30s or 2m", "int": "no whole number",
			"int32": "no whole number of 32 bits", "uint64": "no whole number from 0 on",
		}[flag.Value.Type()]
		err = fmt.Errorf("--%s: %q is %s: %s", flag.Name, wrong.GetValue(), cmp.Or(kind, "no value of it"), usage)
	}
	if missing, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		err = fmt.Errorf("--%s: it needs a value", missing.GetFlag().Name)
	}
	return &usageError{command: cmd.CommandPath(), err: err}
}

// noArguments is for commands that take flags only.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(args[0])) {
		names := []string{"config", "filename", "snapshot"}
		if strings.Contains(args[0], "dump") {
			names = []string{"filename", "snapshot"}
		}
		for _, name := range names {
			if cmd.Flags().Lookup(name) != nil {
				return usagef(cmd, "unexpected argument %q, did you mean --%s %s?", args[0], name, args[0])
			}
		}
	}
	return usagef(cmd, "unexpected argument %q: '%s' takes flags only", args[0], cmd.CommandPath())
}

// checkName checks the value of --name, which is part of names of objects.
func checkName(cmd *cobra.Command, name string) error {
	if wrong := validation.IsDNS1123Subdomain(name); len(wrong) > 0 {
		return usagef(cmd, "--name: %q can be no part of the name of an object: %s", name, wrong[0])
	}
	return nil
}
