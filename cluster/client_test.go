package cluster

import (
	"testing"

	"k8s.io/client-go/rest"
)

func TestClientConfigSpeaksProtobufAndUnderstandsJSON(t *testing.T) {
	plain := &rest.Config{Host: "https://127.0.0.1:6443"}
	got := ClientConfig(plain)
	if got.Host != plain.Host || got.ContentType != "application/vnd.kubernetes.protobuf" ||
		got.AcceptContentTypes != "application/vnd.kubernetes.protobuf,application/json" {
		t.Errorf("%+v", got)
	}
	if plain.ContentType != "" {
		t.Error("the configuration that was given is changed")
	}
}
