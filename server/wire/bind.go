package wire

import (
	"errors"
	"fmt"

	"github.com/go-faster/jx"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
)

// ReadBind decodes an ExtenderBindingArgs: the body of bind. All of its fields must be there, and
// errors say which one is at fault.
func ReadBind(d *jx.Decoder, body []byte) (extenderv1.ExtenderBindingArgs, error) {
	var args extenderv1.ExtenderBindingArgs
	all := []struct {
		name string
		to   *string
	}{{"PodName", &args.PodName}, {"PodNamespace", &args.PodNamespace}, {"PodUID", (*string)(&args.PodUID)}, {"Node", &args.Node}}
	rest, err := fields(d, body, func(key string, rest []byte) ([]byte, error) {
		value, rest, err := extent(rest)
		if err != nil {
			return rest, field(key, err)
		}
		d := jx.DecodeBytes(value)
		for _, f := range all {
			if is(key, f.name) && value.Type() != jx.Null {
				return rest, readName(d, f.name, f.to)
			}
		}
		return rest, field(key, d.Validate())
	})
	switch {
	case err != nil:
		return args, err
	case len(rest) > 0:
		return args, errors.New("unexpected data after the object")
	}
	for _, f := range all {
		if *f.to == "" {
			return args, fmt.Errorf("%s: missing", f.name)
		}
	}
	return args, nil
}
