package attack

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

func bodyAttack(name, tries string, do func(context.Context, *ground) (bombs, error)) Attack {
	return plan[bombs]{name: name, by: Caller, tries: tries, do: do, check: bombs.judge, successes: bombsThatGoOff()}.attack()
}

// bodyAttacks are bodies that take more than they should.
func bodyAttacks() []Attack {
	return []Attack{
		bodyAttack(
			"containers-bomb",
			"to fill muster's memory with 4 MiB of containers of two bytes each",
			func(ctx context.Context, g *ground) (bombs, error) {
				bodies := map[string]string{}
				for field, element := range map[string]string{"containers": "{}", "volumes": "{}", "tolerations": "{}", "resourceClaims": "{}"} {
					list := strings.TrimSuffix(strings.Repeat(element+",", 4<<20/3), ",")
					everywhere(bodies, field, fmt.Sprintf(podOf, `{"`+field+`": [`+list+`]}`))
				}
				list := `": [` + strings.TrimSuffix(strings.Repeat("{},", 19_999), ",") + `]`
				everywhere(
					bodies, "as many as may be", fmt.Sprintf(podOf, `{"containers`+list+`, "initContainers`+list+`, "ephemeralContainers`+list+`}`),
				)
				return g.drop(ctx, 4, bodies)
			},
		),
		bodyAttack("name-bomb", "to fill muster's memory and log with names of 8 MB", func(ctx context.Context, g *ground) (bombs, error) {
			name := strings.Repeat("n", 8_000_000)
			bodies := map[string]string{}
			for _, field := range []string{"name", "namespace", "uid"} {
				everywhere(bodies, field, `{"metadata": {"`+field+`": "`+name+`"}, "spec": {}}`)
			}
			everywhere(bodies, "label", `{"metadata": {"name": "p", "labels": {"`+name+`": "x"}}, "spec": {}}`)
			everywhere(bodies, "scheduler", fmt.Sprintf(podOf, `{"schedulerName": "`+name+`"}`))
			everywhere(bodies, "field", `{"`+name+`": 1, "metadata": 7}`)
			bodies["/bind"] = `{"PodName": "` + name + `"}`
			bodies["/bind short"] = `{"PodName": "` + name[:60_000] + `", "PodUID": 7}`
			bodies["/filter node"] = `{"Pod": 7, "NodeNames": ["` + name + `"]}`
			b, err := g.drop(ctx, 2, bodies)
			b.accepted = nil // some may be as long as they like, as nothing is made of them
			return b, err
		}),
		bodyAttack("deep-nesting", "to have muster recurse without end", func(ctx context.Context, g *ground) (bombs, error) {
			bodies := map[string]string{}
			for of, opening := range map[string]string{
				"lists": "[", "objects": `{"a":`, "items": `{"containers":[`, "affinity": `{"affinity":{"podAffinity":`,
			} {
				everywhere(bodies, of, fmt.Sprintf(podOf, strings.Repeat(opening, 8_000_000/len(opening))))
			}
			for _, verb := range []string{"/filter", "/prioritize", "/preempt", "/bind", "/webhook/gates", "/debug/explain"} {
				bodies[verb+" itself"] = strings.Repeat("[", 60_000)
			}
			bodies["/debug/explain YAML"] = "a: &a [x]\nb: &b [" + strings.TrimSuffix(strings.Repeat("*a,", 900), ",") + "]\nc: &c [" +
				strings.TrimSuffix(strings.Repeat("*b,", 900), ",") + "]\nd: [" + strings.TrimSuffix(strings.Repeat("*c,", 900), ",") + "]\n"
			return g.drop(ctx, 2, bodies)
		}),
		bodyAttack("slow-bodies", "to fill muster's memory with a hundred bodies of 67 MB of which one byte arrives", slowBodies),
	}
}

// slowBodies promises much, and sends little. An answer is none of it.
func slowBodies(ctx context.Context, g *ground) (b bombs, err error) {
	at, err := url.Parse(g.muster.URL())
	if err != nil {
		return b, err
	}
	var failed error
	b.strain, err = g.strained(ctx, func(ctx context.Context) []answer {
		var mu sync.Mutex
		var sent sync.WaitGroup
		ctx, enough := context.WithTimeout(ctx, 2*settling)
		defer enough()
		for range 100 {
			sent.Go(func() {
				if err := trickle(ctx, at.Host); err != nil {
					mu.Lock()
					defer mu.Unlock()
					failed = err
				}
			})
		}
		sent.Wait()
		return nil
	})
	if err == nil {
		err = failed
	}
	return b, err
}

// trickle sends the head of a request and one byte of its body, and stays until the context ends.
func trickle(ctx context.Context, address string) error {
	connection, err := (&net.Dialer{Timeout: time.Minute}).DialContext(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("connect to muster: %w", err)
	}
	defer connection.Close()
	_, err = fmt.Fprintf(
		connection, "%s /filter HTTP/1.1\r\nHost: %s\r\nContent-Type: %s\r\nContent-Length: 67000000\r\n\r\n{", http.MethodPost, address, asJSON,
	)
	<-ctx.Done()
	return err
}
