package cluster

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// claiming has a pod name a claim.
func claiming(name string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, corev1.PodResourceClaim{Name: name, ResourceClaimName: &name})
	}
}

func resourceClaim(name string) *resourcev1.ResourceClaim {
	return &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}

func TestAPodIsAwaitedWithItsClaims(t *testing.T) {
	const longest = time.Second
	type objects = []runtime.Object
	class := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}} // devices can be read
	for name, test := range map[string]struct {
		before, then objects
		claims       int
	}{
		"it is there":                  {before: objects{class, podObject("a")}},
		"it comes":                     {before: objects{class}, then: objects{podObject("a")}},
		"its claim is there":           {before: objects{class, resourceClaim("x"), podObject("a", claiming("x"))}, claims: 1},
		"its claim comes":              {before: objects{class, podObject("a", claiming("x"))}, then: objects{resourceClaim("x")}, claims: 1},
		"it comes, and then its claim": {before: objects{class}, then: objects{podObject("a", claiming("x")), resourceClaim("x")}, claims: 1},
		"its claims come, one after another": {
			before: objects{class, podObject("a", claiming("x"), claiming("y"))},
			then:   objects{resourceClaim("y"), resourceClaim("x")}, claims: 2,
		},
		"no devices can be read": {before: objects{podObject("a", claiming("x"))}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t)
				set(t, c, test.before...)
				got := make(chan *Pod, 1)
				began := time.Now()
				go func() { got <- c.AwaitPending(context.Background(), podObject("a").UID, longest) }()
				synctest.Wait()
				for i, object := range test.then {
					select {
					case p := <-got:
						t.Fatalf("the wait ended before object %d, with %v", i, p)
					default:
					}
					set(t, c, object)
					synctest.Wait()
				}
				p := <-got
				if p == nil || len(p.Claims) != test.claims || p.ClaimProblem != "" {
					t.Errorf("awaited was %+v", p)
				}
				if took := time.Since(began); took != 0 {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
	t.Run("its claim never comes", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := newCluster(t)
			set(t, c, class, podObject("a", claiming("x")))
			began := time.Now()
			p := c.AwaitPending(context.Background(), podObject("a").UID, longest)
			if took := time.Since(began); p == nil || p.ClaimProblem != ClaimMissing || took != longest {
				t.Errorf("after %s awaited was %+v", took, p)
			}
		})
	})
}
