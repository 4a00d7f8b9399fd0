package app

import (
	"errors"
	"net"
	"testing"

	"muster.dev/muster/server/servertest"
)

func TestAfterAnErrorNoPortIsOpen(t *testing.T) {
	taken := errors.New("taken")
	var first *servertest.Pipes
	listen := func(field, _ string, _ int) (net.Listener, error) {
		if field == "second" {
			return nil, taken
		}
		first = servertest.NewPipes()
		return first, nil
	}
	_, err := Open(listen, Address{Field: "none"}, Address{Field: "first", Address: ":1"}, Address{Field: "second", Address: ":2"})
	if !errors.Is(err, taken) {
		t.Errorf("error %v", err)
	}
	if _, err := first.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the first port stays open: %v", err)
	}
}

func TestPortsWithoutAnAddressAreNotOpened(t *testing.T) {
	open, err := Open(func(string, string, int) (net.Listener, error) { return servertest.NewPipes(), nil },
		Address{Field: "none"}, Address{Field: "some", Address: ":1"})
	if err != nil || len(open) != 1 || open["some"] == nil {
		t.Errorf("open are %v (error %v)", open, err)
	}
}
