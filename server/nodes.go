package server

import (
	"fmt"
	"net/http"
	"strings"

	"muster.dev/muster/cluster"
)

// debugNodes lists the nodes by index, as a table.
func (s *Server) debugNodes(w http.ResponseWriter, _ *http.Request) {
	snap := s.cluster.Snapshot()
	t := newTable(w, fmt.Sprintf("generation %d, %d nodes", snap.Generation, snap.NodeCount()))
	defer t.flush()
	t.row("NODE", "PODS", "CPU", "CPU%", "MEMORY", "MEMORY%", "EXTENDED")
	for node := range snap.Nodes() {
		t.row(node.Name,
			fmt.Sprintf("%d/%d", len(node.Pods), node.Allocatable.Pods),
			fmt.Sprintf("%dm/%dm", node.Requested.MilliCPU, node.Allocatable.MilliCPU),
			percent(node.Requested.MilliCPU, node.Allocatable.MilliCPU),
			fmt.Sprintf("%dMi/%dMi", node.Requested.Memory>>20, node.Allocatable.Memory>>20),
			percent(node.Requested.Memory, node.Allocatable.Memory),
			extended(node, snap.ResourceNames))
	}
}

func percent(part, whole int64) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f%%", 100*float64(part)/float64(whole))
}

func extended(node *cluster.Node, names *cluster.ResourceNames) string {
	var resources []string
	for i, offered := range node.Allocatable.Scalar {
		if offered != 0 {
			resources = append(resources, fmt.Sprintf("%s=%d/%d", names.Name(i), node.Requested.ScalarAt(i), offered))
		}
	}
	return strings.Join(resources, " ")
}
