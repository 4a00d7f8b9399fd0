package main

import (
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestVersionNamesWhatTheBinaryIsBuiltFrom(t *testing.T) {
	platform := "platform:   " + runtime.GOOS + "/" + runtime.GOARCH + "\n"
	tests := []struct {
		name string
		info debug.BuildInfo
		want string
	}{
		{
			name: "a release",
			info: debug.BuildInfo{
				GoVersion: "go1.26.8",
				Main:      debug.Module{Path: "muster.dev/muster", Version: "v0.1.0"},
				Deps:      []*debug.Module{{Path: "k8s.io/api", Version: "v0.1.2"}, {Path: "k8s.io/client-go", Version: "v0.36.3"}},
				Settings:  []debug.BuildSetting{{Key: "GOARCH", Value: "amd64"}, {Key: "vcs.revision", Value: "72b9ba2"}},
			},
			want: "muster:     v0.1.0\ncommit:     72b9ba2\nkubernetes: v0.36.3\ngo:         go1.26.8\n" + platform,
		},
		{
			name: "a build outside of version control",
			info: debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Version: "(devel)"}},
			want: "muster:     (devel)\ncommit:     unknown\nkubernetes: unknown\ngo:         go1.26.8\n" + platform,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out strings.Builder
			if err := printVersion(&out, &test.info); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, out.String()); diff != "" {
				t.Errorf("want (-) got (+):\n%s", diff)
			}
		})
	}
}
