package controlplane

import (
	"context"
	"net/http"

	"muster.dev/muster/e2e/binaries"
)

func (cp *ControlPlane) startEtcd(ctx context.Context) error {
	client, peer := "http://"+local(cp.ports.etcdClient), "http://"+local(cp.ports.etcdPeer)
	args := []string{
		"--name=e2e",
		"--data-dir=" + cp.file("etcd"),
		"--listen-client-urls=" + client,
		"--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=e2e=" + peer,
		"--unsafe-no-fsync",
		"--quota-backend-bytes=8589934592",
		"--log-level=warn",
	}
	return cp.start(ctx, binaries.Etcd, args, nil, answers(http.DefaultClient, client+"/health"))
}
