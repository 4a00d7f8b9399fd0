// Package chart holds the tests of charts/muster.
//
// Each file of charts/muster/ci is a way to install it. All of them are linted and rendered by the
// real Helm, what they render is a configuration that muster accepts and objects that a real API
// server accepts. One is installed, upgraded and uninstalled there.
//
// Both modes are installed and run: the containers of their Deployments are processes here, with the arguments, files, probes and
// ServiceAccounts that they have there, the stock kube-scheduler of mode sidecar among them. All that they do is in the API server's
// audit log, which says that nothing was forbidden and that no right of the roles was left unused.
//
// Alerts are run by Prometheus' own rule engine, and what they and the dashboard ask for is looked up
// in the metrics that the two processes serve.
package chart
