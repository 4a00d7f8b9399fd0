package gangfaults

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/e2e/devices"
)

// claimOf is a claim of a pod, which holds devices of a pool.
func claimOf(pod, pool string, held ...string) entry {
	claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{
		Name: "of-" + pod, UID: types.UID("claim-" + pod),
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod, UID: types.UID(pod), Controller: new(true)}},
	}}
	if len(held) > 0 {
		claim.Status.Allocation = &resourcev1.AllocationResult{}
	}
	for _, device := range held {
		claim.Status.Allocation.Devices.Results = append(claim.Status.Allocation.Devices.Results,
			resourcev1.DeviceRequestAllocationResult{Driver: devices.Driver, Pool: pool, Device: device})
	}
	return entry{claim: claim}
}

func podOn(name, node string) entry {
	return entry{pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}, Spec: corev1.PodSpec{NodeName: node}}}
}

func gone(e entry) entry {
	e.gone = true
	return e
}

func TestDevicesThatAreHeldInVainAreFound(t *testing.T) {
	for name, test := range map[string]struct {
		history   []entry
		want      []string // kinds of findings
		takenBack int
	}{
		"a pod that runs has its devices": {
			history: []entry{podOn("a", ""), claimOf("a", "n"), claimOf("a", "n", "0"), podOn("a", "n")},
		},
		"nothing is allocated yet": {history: []entry{podOn("a", ""), claimOf("a", "n")}},
		"a pod is on no node":      {history: []entry{podOn("a", ""), claimOf("a", "n", "0")}, want: []string{claimLeft}},
		"a pod is gone":            {history: []entry{podOn("a", "n"), claimOf("a", "n", "0"), gone(podOn("a", "n"))}, want: []string{claimLeft}},
		"a claim is gone with it": {
			history: []entry{podOn("a", "n"), claimOf("a", "n", "0"), gone(podOn("a", "n")), gone(claimOf("a", "n", "0"))},
		},
		"what was allocated in vain is taken back": {
			history: []entry{podOn("a", ""), claimOf("a", "n", "0"), claimOf("a", "n")}, takenBack: 1,
		},
		"two claims hold one device": {
			history: []entry{podOn("a", "n"), podOn("b", "n"), claimOf("a", "n", "0", "1"), claimOf("b", "n", "1")},
			want:    []string{deviceTwice},
		},
		"devices of two nodes have one name": {
			history: []entry{podOn("a", "n"), podOn("b", "m"), claimOf("a", "n", "0"), claimOf("b", "m", "0")},
		},
		"one has it after the other": {
			history:   []entry{podOn("a", "n"), podOn("b", "n"), claimOf("a", "n", "0"), claimOf("a", "n"), claimOf("b", "n", "0")},
			takenBack: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := judgeDevices(test.history)
			var kinds []string
			for _, f := range v.findings {
				kinds = append(kinds, f.what)
			}
			if !slices.Equal(kinds, test.want) || v.takenBack != test.takenBack {
				t.Errorf("found %v, and %d taken back, want %v and %d", v.findings, v.takenBack, test.want, test.takenBack)
			}
			if want := slices.Contains(test.want, claimLeft); (v.left > 0) != want {
				t.Errorf("%d claims were left behind", v.left)
			}
		})
	}
}
