package v1alpha1

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLevelsOfAnObject(t *testing.T) {
	network := []TopologyLevel{
		{Key: "region"},
		{Key: "zone"},
		{Key: "block"},
		{Key: "example.com/rack", Alias: "rack"},
		{Key: "kubernetes.io/hostname"},
	}
	for name, test := range map[string]struct {
		levels     []TopologyLevel
		asks, want Topology
		not        bool
	}{
		"domains are told apart by all levels above": {
			asks: Topology{Levels: []string{"block"}, Required: 1},
			want: Topology{Levels: []string{"block"}, Above: [][]string{{"region", "zone"}}, Required: 1},
		},
		"a preferred level has others above it, as many as may be": {
			asks: Topology{Levels: []string{"example.com/rack"}},
			want: Topology{Levels: []string{"zone", "block", "example.com/rack"}, Above: [][]string{{"region"}, nil, nil}},
		},
		"but none above the one that is required": {
			asks: Topology{Levels: []string{"zone", "example.com/rack"}, Required: 1},
			want: Topology{Levels: []string{"zone", "block", "example.com/rack"}, Above: [][]string{{"region"}, nil, nil}, Required: 1},
		},
		"named levels come first": {
			asks: Topology{Levels: []string{"region", "example.com/rack"}, Balanced: 1},
			want: Topology{Levels: []string{"region", "block", "example.com/rack"}, Above: [][]string{nil, {"zone"}, nil}, Balanced: 1},
		},
		"an alias stands for a key": {
			asks: Topology{Name: "network", Levels: []string{"rack"}, Required: 1},
			want: Topology{Name: "network", Levels: []string{"example.com/rack"}, Above: [][]string{{"region", "zone", "block"}}, Required: 1},
		},
		"the order is that of the object": {
			asks: Topology{Levels: []string{"block", "zone"}, Required: 1, Balanced: 2, Slices: []TopologySlice{{8, 2}, {4, 1}, {2, 3}}},
			want: Topology{
				Levels: []string{"block"}, Above: [][]string{{"region", "zone"}}, Required: 1, Balanced: 1,
				Slices: []TopologySlice{{8, 1}, {4, 1}, {2, 2}},
			},
		},
		"few nodes, in few of the domains that they are in": {
			asks: Topology{Nodes: true},
			want: Topology{Nodes: true, Levels: []string{"zone", "block", "example.com/rack"}, Above: [][]string{{"region"}, nil, nil}},
		},
		"few nodes of a domain": {
			asks: Topology{Nodes: true, Levels: []string{"zone"}, Required: 1},
			want: Topology{Nodes: true, Levels: []string{"zone", "block", "example.com/rack"}, Above: [][]string{{"region"}, nil, nil}, Required: 1},
		},
		"one node is of one domain": {
			asks: Topology{Levels: []string{"zone"}, Required: 2, Slices: []TopologySlice{{2, 1}}},
			want: Topology{Required: 1, Slices: []TopologySlice{{2, 1}}},
		},
		"slices of nodes need no other level": {
			asks: Topology{Slices: []TopologySlice{{2, 1}}},
			want: Topology{Slices: []TopologySlice{{2, 1}}},
		},
		"a level that is not listed": {
			asks: Topology{Levels: []string{"block", "room"}, Required: 1}, not: true,
			want: Topology{Levels: []string{"block", "room"}, Required: 1},
		},
		"no level at all": {
			levels: []TopologyLevel{}, asks: Topology{Nodes: true}, want: Topology{Nodes: true},
		},
	} {
		if test.levels == nil {
			test.levels = network
		}
		got, ok := test.asks.Along(test.levels)
		if diff := cmp.Diff(test.want, got); diff != "" || ok == test.not {
			t.Errorf("%s: %t (-want +got):\n%s", name, ok, diff)
		}
	}
}

func TestPathsOfLevelsAreThoseOfAnObject(t *testing.T) {
	network := []TopologyLevel{{Key: "zone"}, {Key: "block"}, {Key: "example.com/rack", Alias: "rack"}, {Key: "kubernetes.io/hostname"}}
	for name, test := range map[string]struct {
		names []string
		want  [][]string
	}{
		"all levels above are of a path": {names: []string{"example.com/rack"}, want: [][]string{{"zone", "block", "example.com/rack"}}},
		"an alias stands for a key":      {names: []string{"rack"}, want: [][]string{{"zone", "block", "example.com/rack"}}},
		"the order is that of the object, and each level is there once": {
			names: []string{"block", "zone", "block"}, want: [][]string{{"zone"}, {"zone", "block"}},
		},
		"a level that is not listed":       {names: []string{"zone", "row"}},
		"nodes are no level with a domain": {names: []string{"kubernetes.io/hostname"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, listed := PathsOf(network, test.names)
			if diff := cmp.Diff(test.want, got); diff != "" || listed != (test.want != nil) {
				t.Errorf("listed: %t (-want +got):\n%s", listed, diff)
			}
		})
	}
}
