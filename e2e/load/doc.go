// Package load holds the tests of where usage figures come from, against real sources: metrics-server
// and Prometheus, which read what KWOK serves as kubelets do, and the API server's NodeMetrics.
package load
