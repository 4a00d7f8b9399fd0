package wire_test

import (
	"fmt"

	"github.com/go-faster/jx"

	"muster.dev/muster/server/wire"
)

// collected takes the names of a request as they come.
type collected []string

// Known knows no name, so that all come through Name.
func (c *collected) Known([]byte) int { return 0 }

func (c *collected) Name(name []byte) (taken bool, err error) {
	*c = append(*c, string(name))
	return true, nil
}

// A filter call is read and answered.
func Example() {
	body := []byte(`{"Pod": {"metadata": {"name": "web", "namespace": "default", "uid": "1"}}, "NodeNames": ["a", "b"]}`)
	var args wire.Args
	var nodes collected
	if err := args.Read(jx.DecodeBytes(nil), body, &nodes); err != nil {
		panic(err)
	}
	fmt.Printf("%s/%s on %v\n", args.Pod.Namespace, args.Pod.Name, nodes)

	var w jx.Writer
	reply := wire.NewFilterReply(&w)
	reply.Accept([]byte(`"a"`))
	reply.Reject([]byte(`"b"`), "Insufficient cpu")
	reply.End()
	fmt.Println(w.String())
	// Output:
	// default/web on [a b]
	// {"NodeNames":["a"],"FailedAndUnresolvableNodes":{"b":"Insufficient cpu"}}
}
