package cluster

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// kube-scheduler nominates a pod to its node before it waits for the pod's volumes, which may take many terms.
func TestAnAssumptionLastsWhileThePodIsNominatedToItsNode(t *testing.T) {
	for name, test := range map[string]struct {
		then func(t *testing.T, c *Cluster)
		want string
	}{
		"for long": {func(*testing.T, *Cluster) { <-time.After(20 * testTTL) }, "a"},
		"and changes otherwise": {func(t *testing.T, c *Cluster) {
			<-time.After(20 * testTTL)
			set(t, c, podObject("p", nominatedTo("a"), func(pod *corev1.Pod) { pod.Labels["new"] = "label" }))
			<-time.After(20 * testTTL)
		}, "a"},
		"and a term longer": {func(t *testing.T, c *Cluster) {
			<-time.After(20 * testTTL)
			set(t, c, podObject("p"))
			<-time.After(testTTL - 1)
		}, "a"},
		"and no more than a term longer": {func(t *testing.T, c *Cluster) {
			<-time.After(20 * testTTL)
			set(t, c, podObject("p"))
			<-time.After(testTTL + 1)
		}, ""},
		"and not while it is nominated to another one": {func(t *testing.T, c *Cluster) {
			set(t, c, podObject("p", nominatedTo("b")))
			<-time.After(testTTL + 1)
		}, ""},
		"until it is bound": {func(t *testing.T, c *Cluster) {
			<-time.After(20 * testTTL)
			set(t, c, podObject("p", onNode("a")))
		}, ""},
		"until it is gone": {func(t *testing.T, c *Cluster) {
			<-time.After(20 * testTTL)
			remove(t, c, podObject("p"))
		}, ""},
		"until the API server may bind it, and does not": {func(_ *testing.T, c *Cluster) {
			<-time.After(20 * testTTL)
			c.Bind("pod-p", "a", testTTL)
			<-time.After(testTTL + 1)
		}, ""},
		"and from when it is assumed": {func(t *testing.T, c *Cluster) {
			c.Release("pod-p")
			assume(t, c, c.PendingPod("pod-p"), "a")
			<-time.After(20 * testTTL)
		}, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _ := assumedOn(t)
				set(t, c, podObject("p", nominatedTo("a")))
				test.then(t, c)
				synctest.Wait()
				if got := c.Assumed("pod-p"); got != test.want {
					t.Errorf("it is assumed on %q, want %q", got, test.want)
				}
				c.Refuse("pod-p")
			})
		})
	}
}
