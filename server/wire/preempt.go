package wire

import (
	"bytes"
	"fmt"

	"github.com/go-faster/jx"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/api/bounded"
)

// PreemptArgs has the fields of an ExtenderPreemptionArgs that count: the body of preempt.
type PreemptArgs struct {
	Pod Pod
	// Victims are the proposed victims, by node, in the one form that an answer has. Unknown nodes
	// have none.
	Victims map[string]*extenderv1.MetaVictims
}

// Node tells how many pods there are on a node, and false when it is not known.
type Node func(name []byte) (pods int, known bool)

// spareVictims is how many victims may be proposed on a node beyond the pods that are known there.
const spareVictims = 100

// Read decodes a body. Its size apart, a holds what is in the body for the nodes that are known:
// of a victim that is a whole pod it keeps the UID. Errors say which field is at fault.
func (a *PreemptArgs) Read(d *jx.Decoder, body []byte, node Node) error {
	*a = PreemptArgs{Victims: map[string]*extenderv1.MetaVictims{}}
	rest, err := fields(d, body, func(key string, rest []byte) ([]byte, error) {
		value, rest, err := extent(rest)
		switch {
		case err != nil:
			return rest, field(key, err)
		case value.Type() == jx.Null:
		case is(key, "Pod"):
			return rest, field("Pod", a.Pod.read(value))
		case is(key, "NodeNameToMetaVictims"):
			return rest, field("NodeNameToMetaVictims", a.read(value, node, metaUID))
		case is(key, "NodeNameToVictims"):
			return rest, field("NodeNameToVictims", a.read(value, node, podUID))
		}
		return rest, field(key, jx.DecodeBytes(value).Validate())
	})
	return ended(&a.Pod, rest, err)
}

// read reads victims by node.
func (a *PreemptArgs) read(raw jx.Raw, node Node, uid func(*jx.Decoder) (string, error)) error {
	return bounded.Object(jx.DecodeBytes(raw), func(d *jx.Decoder, name []byte) error {
		pods, known := node(name)
		if !known || d.Next() == jx.Null {
			return d.Skip()
		}
		name = bytes.Clone(name)
		victims, err := readVictims(d, pods+spareVictims, uid)
		a.Victims[string(name)] = victims
		return field(string(name), err)
	})
}

// readVictims reads the victims on a node, up to a number.
func readVictims(d *jx.Decoder, most int, uid func(*jx.Decoder) (string, error)) (*extenderv1.MetaVictims, error) {
	victims := &extenderv1.MetaVictims{}
	err := bounded.Object(d, func(d *jx.Decoder, key []byte) (err error) {
		switch {
		case d.Next() == jx.Null:
			return d.Skip()
		case is(key, "NumPDBViolations"):
			victims.NumPDBViolations, err = d.Int64()
			return field("NumPDBViolations", err)
		case !is(key, "Pods"):
			return d.Skip()
		}
		victims.Pods = nil
		return field("Pods", bounded.Array(d, func(d *jx.Decoder) error {
			switch {
			case d.Next() == jx.Null:
				return d.Skip()
			case len(victims.Pods) == most:
				return fmt.Errorf("there are more than %d, which are %d more than the pods that are known there", most, spareVictims)
			}
			victim, err := uid(d)
			victims.Pods = append(victims.Pods, &extenderv1.MetaPod{UID: victim})
			return err
		}))
	})
	return victims, err
}

// metaUID reads a MetaPod.
func metaUID(d *jx.Decoder) (uid string, err error) {
	err = bounded.Object(d, func(d *jx.Decoder, key []byte) error {
		if !is(key, "UID") || d.Next() == jx.Null {
			return d.Skip()
		}
		return readName(d, "UID", &uid)
	})
	return uid, err
}

// podUID reads the UID of a whole pod.
func podUID(d *jx.Decoder) (uid string, err error) {
	err = bounded.Object(d, func(d *jx.Decoder, key []byte) error {
		if string(key) != "metadata" || d.Next() == jx.Null {
			return d.Skip()
		}
		return bounded.Object(d, func(d *jx.Decoder, key []byte) error {
			if string(key) != "uid" {
				return d.Skip()
			}
			return readName(d, "metadata.uid", &uid)
		})
	})
	return uid, err
}

// is says that a key names a field of extender/v1. Its types have no names for JSON, so any case will do.
func is[Key string | []byte](key Key, name string) bool {
	return bytes.EqualFold([]byte(key), []byte(name))
}
