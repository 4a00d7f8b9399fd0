package attack

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	certutil "k8s.io/client-go/util/cert"
)

// entry is what came of calls with certificates, by whose they are: nothing if there was no answer.
type entry struct {
	answers map[string]answer
	welcome answer // to kube-scheduler
}

func (e entry) judge() verdict {
	if e.welcome.status != http.StatusOK {
		return succeeded("kube-scheduler is shut out: %s", e.welcome)
	}
	for who, got := range e.answers {
		if got.status != 0 && got.status != http.StatusForbidden {
			return succeeded("%s is answered: %s", who, got)
		}
	}
	return held("%d callers are not let in, kube-scheduler is", len(e.answers))
}

func certificates() Attack {
	return plan[entry]{
		name:  "certificates-of-others",
		by:    Caller,
		tries: "to call the verbs without a certificate, or with that of a kubelet, the administrator or an authority of its own",
		do: func(ctx context.Context, g *ground) (e entry, err error) {
			e.answers = map[string]answer{}
			ask := func(certificates ...tls.Certificate) answer {
				body := filterBody(newPod(othersNamespace, "anybody", "1"), "node")
				return send(
					ctx, g.guarded.client(certificates...), http.MethodPost, g.guarded.verbs+"/filter", strings.NewReader(string(body)), "Content-Type",
					asJSON,
				)
			}
			e.answers["nobody"] = ask()
			for _, name := range []string{
				"system:kube-scheduler", "system:node:node", "admin", "kube-scheduler", "SYSTEM:KUBE-SCHEDULER",
				"system:kube-scheduler.evil.example",
			} {
				pair, err := g.certificateOf(name)
				if err != nil {
					return e, err
				}
				if got := ask(pair); name == "system:kube-scheduler" {
					e.welcome = got
				} else {
					e.answers[name] = got
				}
			}
			certificate, key, err := certutil.GenerateSelfSignedCertKey("system:kube-scheduler", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
			if err != nil {
				return e, err
			}
			pair, err := tls.X509KeyPair(certificate, key)
			e.answers["an authority of its own"] = ask(pair)
			return e, err
		},
		check: entry.judge,
		successes: []entry{
			{},
			{welcome: answer{status: http.StatusOK}, answers: map[string]answer{"nobody": {status: http.StatusOK}}},
			{welcome: answer{status: http.StatusOK}, answers: map[string]answer{"a kubelet": {status: http.StatusBadRequest}}},
		},
	}.attack()
}

// certificateOf is one of the authority of the cluster.
func (g *ground) certificateOf(name string) (pair tls.Certificate, err error) {
	var groups []string
	if name == "admin" {
		groups = []string{"system:masters"} // it is the kubeconfig of everybody else here, too
	}
	kubeconfig, err := g.cp.KubeconfigFor(name, groups...)
	if err != nil {
		return pair, err
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return pair, fmt.Errorf("read the kubeconfig of %s: %w", name, err)
	}
	return tls.X509KeyPair(config.CertData, config.KeyData)
}
