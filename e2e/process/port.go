package process

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// FreePort returns a port of 127.0.0.1 that nobody listens on, and claims it: as long as this process lives, FreePort
// gives it to nobody else on this machine, so that a component may be started there later, and again. It stays below the
// range from which systems number outgoing connections: a port of that range could be taken while a component restarts,
// even by a client that connects to itself.
func FreePort() (int, error) {
	const lowest, highest, attempts = 10_000, 32_000, 100
	var errs error
	for range attempts {
		port := lowest + rand.IntN(highest-lowest)
		if err := claim(port); err != nil {
			errs = errors.Join(errs, err)
			continue
		}
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			errs = errors.Join(errs, err)
			continue
		}
		return port, l.Close()
	}
	return 0, fmt.Errorf("find a free port: %w", errs)
}
