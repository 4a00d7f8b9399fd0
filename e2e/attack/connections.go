package attack

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"sync"
	"time"
)

// idle is how many connections are opened: fewer than serving.maxConnections, as who may open all
// of those keeps others out, which SECURITY.md says.
const idle = 3000

func idleConnections() Attack {
	return delayAttack(
		Caller,
		"idle-connections",
		fmt.Sprintf("to keep kube-scheduler out by %d connections that send nothing, or half a header", idle),
		func(ctx context.Context, g *ground) (d delay, err error) {
			if _, err := g.stage(ctx, newNodes("busy", 1, "4")); err != nil {
				return d, err
			}
			at, err := url.Parse(g.muster.URL())
			if err != nil {
				return d, err
			}
			var mu sync.Mutex
			var connections []net.Conn
			defer func() {
				for _, connection := range connections {
					connection.Close()
				}
			}()
			var opening sync.WaitGroup
			for worker := range 8 {
				opening.Go(func() {
					for i := range idle / 8 {
						connection, dialErr := (&net.Dialer{Timeout: time.Minute}).DialContext(ctx, "tcp", at.Host)
						if dialErr == nil && (worker+i)%2 == 0 {
							_, dialErr = fmt.Fprint(connection, "POST /filter HTTP/1.1\r\nHost: ")
						}
						mu.Lock()
						if dialErr != nil {
							err = dialErr
						} else {
							connections = append(connections, connection)
						}
						mu.Unlock()
					}
				})
			}
			opening.Wait()
			if err != nil {
				return d, fmt.Errorf("open %d connections: %w", idle, err)
			}
			d.about = "a pod"
			pods, err := g.create(ctx, newPod(othersNamespace, "unhurried", "1"))
			if err == nil {
				d.waited, d.bound = g.awaitBound(ctx, pods["unhurried"])
			}
			return d, err
		},
	)
}
