package server

import (
	"fmt"
	"net/http"
	"text/tabwriter"

	"muster.dev/muster/cluster"
)

// debugNodes lists the nodes by index, as a table.
func (s *Server) debugNodes(w http.ResponseWriter, _ *http.Request) {
	snap := s.cluster.Snapshot()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = fmt.Fprintf(w, "generation %d, %d nodes\n\n", snap.Generation, snap.NodeCount())
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	defer func() { _ = table.Flush() }() // the caller may be gone
	row := func(columns ...any) {
		for _, column := range columns {
			_, _ = fmt.Fprintf(table, "%v\t", column)
		}
		_, _ = fmt.Fprintln(table)
	}
	row("NODE", "PODS", "CPU", "CPU%", "MEMORY", "MEMORY%", "EXTENDED")
	for node := range snap.Nodes() {
		row(node.Name,
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
	text := ""
	for i, offered := range node.Allocatable.Scalar {
		if offered != 0 {
			text += fmt.Sprintf("%s=%d/%d ", names.Name(i), node.Requested.ScalarAt(i), offered)
		}
	}
	return text
}
