package attack

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
)

// The hall where room is booked, and how long a gang waits for it. Half of the hall is the most that may be booked.
const (
	hallNodes, hallCores = 6, 4
	hall                 = hallNodes * hallCores
	reserveAfter         = time.Second
)

// generations is how often all honest pods are replaced in a measurement.
const generations = 4

// keptIdle tells what others get while a tenant has room booked.
type keptIdle struct {
	most     int     // pods of a core that room was booked for at a time, for the tenant
	share    float64 // of the hall that was kept idle for it, on average
	rate     float64 // of the small pods that others get done, to what they get done without the attack
	stuck    string  // of others, who do not go on
	waited   string  // a gang of others that does not start
	attacked int     // how often the tenant did something
}

func (k keptIdle) judge() verdict {
	v := held("others get %.0f %% of their small pods done, and %.0f %% of the hall is kept idle", 100*k.rate, 100*k.share)
	switch {
	case k.most > hall/2:
		v = succeeded("room for %d pods is booked for the tenant, of %d", k.most, hall)
	case k.stuck != "":
		v = succeeded("pods of others that end in time do not go on: %s", k.stuck)
	case k.waited != "":
		v = succeeded("a gang of others does not start: %s", k.waited)
	}
	v.idle, v.rate = k.share, k.rate
	return v
}

// bookingAttacks are what a tenant can do to keep a cluster idle by gangs that are to have room in time.
func bookingAttacks() (attacks []Attack) {
	for _, a := range []struct {
		name, tries string
		attack      mischief
	}{
		{"room-for-gangs-that-go", "to keep half of a cluster idle by old gangs that are deleted as soon as they have room", gangsThatGo},
		{"room-for-gangs-that-never-fit", "to have no large gang of others get room, by many gangs that can never fit", gangsThatNeverFit},
		{"room-behind-lies", "to keep half of a cluster idle by pods that say that they end soon or late, and do not", gangBehindLies},
		{"room-that-is-not-taken", "to keep half of a cluster idle by a gang that gets its room and never starts", gangThatNeverStarts},
		{"room-for-changing-minima", "to keep half of a cluster idle by a gang whose minimum changes all the time", gangOfChangingMinimum},
		{"room-for-gated-members", "to keep half of a cluster idle by members that are gated and not gated by turns", gangOfGatedMembers},
	} {
		attacks = append(attacks, plan[keptIdle]{
			name: a.name, by: Tenant, tries: a.tries,
			do:    func(ctx context.Context, g *ground) (keptIdle, error) { return g.amidHonest(ctx, a.attack) },
			check: keptIdle.judge,
			successes: []keptIdle{
				{most: hall/2 + 1, rate: 1}, {stuck: "pod", rate: 1}, {waited: "others/good", rate: 1},
			},
		}.attack())
	}
	return attacks
}

// mischief does something as the tenant, again and again: the i-th time it was called.
type mischief func(ctx context.Context, g *ground, i int) error

// amidHonest measures what others get done in a full hall while the tenant does something.
func (g *ground) amidHonest(ctx context.Context, do mischief) (k keptIdle, err error) {
	if _, err := g.stage(ctx, newNodes("hall", hallNodes, fmt.Sprint(hallCores))); err != nil {
		return k, err
	}
	others := &honest{g: g, live: hall + hallCores, started: map[string]time.Time{}}
	stop := others.work(ctx)
	defer func() { err = errors.Join(err, stop()) }()
	if k.stuck = others.goOn(ctx, 1); k.stuck != "" { // until muster has learned, and pods end evenly
		return k, fmt.Errorf("without an attack pods do not go on: %s", k.stuck)
	}
	began := time.Now()
	if k.stuck = others.goOn(ctx, generations); k.stuck != "" {
		return k, fmt.Errorf("without an attack pods do not go on: %s", k.stuck)
	}
	alone := time.Since(began)
	if err := do(ctx, g, 0); err != nil {
		return k, err
	}
	before, err := g.muster.RoomInTime(ctx)
	if err != nil {
		return k, err
	}
	began = time.Now()
	err = g.disturbed(ctx, do, &k, func() { k.stuck = others.goOn(ctx, generations) })
	took := time.Since(began)
	if err != nil || k.stuck != "" {
		return k, err
	}
	after, err := g.muster.RoomInTime(ctx)
	k.share = (after.IdlePodSeconds[tenantNamespace] - before.IdlePodSeconds[tenantNamespace]) / (hall * took.Seconds())
	k.rate = alone.Seconds() / took.Seconds()
	if err != nil {
		return k, err
	}
	return k, g.startsBehind(ctx, do, &k)
}

// disturbed does the mischief again and again while something goes on.
func (g *ground) disturbed(ctx context.Context, do mischief, k *keptIdle, goesOn func()) error {
	var failed error
	err := amid(ctx, machineTick, func(ctx context.Context, i int) {
		if err := g.disturb(ctx, do, i+1, k); err != nil && ctx.Err() == nil {
			failed = err
		}
	}, func() error {
		goesOn()
		return nil
	})
	return errors.Join(err, failed)
}

// disturb does the mischief once more, and looks how much is booked for the tenant.
func (g *ground) disturb(ctx context.Context, do mischief, i int, k *keptIdle) error {
	k.attacked++
	if err := do(ctx, g, i); err != nil {
		return err
	}
	said, err := g.muster.RoomInTime(ctx)
	k.most = max(k.most, int(said.Pods[tenantNamespace]))
	return err
}

// startsBehind has a gang of others come that asks for a third of the hall, and tells if it does not start while the attack goes on.
func (g *ground) startsBehind(ctx context.Context, do mischief, k *keptIdle) error {
	var members []*corev1.Pod
	for i := range hall / 3 {
		member := newPod(othersNamespace, fmt.Sprint("good-", i), "1", memberOf("good", hall/3), endsAfter(honestRuntime, honestRuntime))
		made, err := g.client.CoreV1().Pods(othersNamespace).Create(ctx, member, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("create a member of a gang of others: %w", err)
		}
		members = append(members, made)
	}
	return g.disturbed(ctx, do, k, func() {
		if waited, started := g.awaitBound(ctx, members...); !started {
			k.waited = fmt.Sprintf("%s/good, in %s", othersNamespace, waited.Round(time.Second))
		}
	})
}

// goOn returns when all honest pods have been replaced some times, and else what waits.
func (h *honest) goOn(ctx context.Context, times int) (stuck string) {
	first, err := h.done()
	if err != nil {
		return err.Error()
	}
	for range times { // each has all of the patience
		from, _ := h.done()
		err := eventually(ctx, "pods of others go on", func() error {
			if done, err := h.done(); err != nil || done < from+h.live {
				return errors.Join(err, fmt.Errorf("%d have ended", done-first))
			}
			return nil
		})
		if err != nil {
			return fmt.Sprintf("%v; %v wait", err, h.waiting(ctx))
		}
	}
	return ""
}

// member is a pod of a core of a gang of the tenant's.
func member(gang string, i int, change ...func(*corev1.Pod)) *corev1.Pod {
	return newPod(tenantNamespace, fmt.Sprintf("%s-%d", gang, i), "1", append([]func(*corev1.Pod){of(gang)}, change...)...)
}

// raise creates a gang of half of the hall as the tenant, unless it is there.
func (g *ground) raise(ctx context.Context, gang string) error {
	err := g.createGroup(ctx, g.tenant.dynamic, newGroup(tenantNamespace, gang, hall/2))
	if err != nil && !apierrors.IsAlreadyExists(errors.Unwrap(err)) {
		return err
	}
	for i := range hall / 2 {
		if err := g.submit(ctx, member(gang, i)); err != nil {
			return err
		}
	}
	return nil
}

// submit creates a pod as the tenant, unless it is there.
func (g *ground) submit(ctx context.Context, pod *corev1.Pod) error {
	_, err := g.tenant.client.CoreV1().Pods(tenantNamespace).Create(ctx, pod, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create pod %s: %w", pod.Name, err)
	}
	return nil
}

// gangsThatGo has three old gangs wait at all times. The members of one that has room are deleted, and come again.
func gangsThatGo(ctx context.Context, g *ground, i int) error {
	pods, err := g.tenant.client.CoreV1().Pods(tenantNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for j := range pods.Items {
		if pod := &pods.Items[j]; pod.Spec.NodeName != "" {
			err := g.tenant.client.CoreV1().Pods(tenantNamespace).Delete(ctx, pod.Name, metav1.DeleteOptions{})
			if err != nil && !apierrors.IsNotFound(err) {
				return err
			}
		}
	}
	return g.raise(ctx, fmt.Sprint("old-", i%3))
}

// gangsThatNeverFit has gangs wait, more than muster looks at in half a minute: most ask for larger nodes than there are, some for more
// than half of the hall, and some to start together with groups of others.
func gangsThatNeverFit(ctx context.Context, g *ground, i int) error {
	if i > 0 {
		return nil
	}
	for _, name := range []string{"leech", "anchor"} {
		group := newGroup(tenantNamespace, name, 1, saying(v1alpha1.AnnotationGroups, `["`+othersNamespace+`/honest"]`))
		if err := errors.Join(g.createGroup(ctx, g.tenant.dynamic, group), g.submit(ctx, member(name, 0))); err != nil {
			return err
		}
	}
	for i := range hall { // which is twice the most
		if err := g.submit(ctx, newPod(tenantNamespace, fmt.Sprint("vast-", i), "1", memberOf("vast", hall))); err != nil {
			return err
		}
	}
	for i := range 150 {
		giant := newPod(tenantNamespace, fmt.Sprint("giant-", i), fmt.Sprint(hallCores+1), memberOf(fmt.Sprint("giant-", i), 1))
		if err := g.submit(ctx, giant); err != nil {
			return err
		}
	}
	return nil
}

// gangBehindLies has a gang wait for pods that take more than half of the hall, say that they end in a second, and do not for long;
// others say that they run for an hour, and end at once. The gang comes once the first ones run: else it has their room, for long.
func gangBehindLies(ctx context.Context, g *ground, i int) error {
	const liars = hall/2 + 2
	for j := range liars {
		if err := g.submit(ctx, newPod(tenantNamespace, fmt.Sprint("liar-", j), "1", endsAfter(time.Hour, time.Second))); err != nil {
			return err
		}
	}
	if err := g.submit(ctx, newPod(tenantNamespace, fmt.Sprint("lazy-", i), "1", endsAfter(time.Second, time.Hour))); err != nil {
		return err
	}
	pods, err := g.tenant.client.CoreV1().Pods(tenantNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	running := 0
	for j := range pods.Items {
		if pod := &pods.Items[j]; strings.HasPrefix(pod.Name, "liar-") && pod.Spec.NodeName != "" {
			running++
		}
	}
	if running < liars {
		return nil
	}
	return g.raise(ctx, "behind")
}

// gangThatNeverStarts has one member that asks for a volume which there is not: kube-scheduler finds out, and muster does not.
func gangThatNeverStarts(ctx context.Context, g *ground, i int) error {
	if i > 0 {
		return nil
	}
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "never", Namespace: tenantNamespace},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: new("none"), AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
	_, err := g.client.CoreV1().PersistentVolumeClaims(tenantNamespace).Create(ctx, claim, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create a claim: %w", err)
	}
	if err := g.submit(ctx, member("never", 0, func(pod *corev1.Pod) {
		pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name},
		}}}
	})); err != nil {
		return err
	}
	return g.raise(ctx, "never")
}

// gangOfChangingMinimum asks for one member less, for all, and for one more than there are, by turns.
func gangOfChangingMinimum(ctx context.Context, g *ground, i int) error {
	if i == 0 {
		return g.raise(ctx, "moody")
	}
	change := fmt.Appendf(nil, `{"spec": {"minMember": %d}}`, hall/2+i%3-1)
	_, err := g.tenant.dynamic.Resource(v1alpha1.ResourceOf(v1alpha1.GroupX)).Namespace(tenantNamespace).
		Patch(ctx, "moody", "application/merge-patch+json", change, metav1.PatchOptions{})
	return err
}

// gangOfGatedMembers has a gate on one member, and a second later another one without it in its place.
func gangOfGatedMembers(ctx context.Context, g *ground, i int) error {
	if i == 0 {
		return g.raise(ctx, "barred")
	}
	if i%10 > 0 {
		return nil
	}
	pods := g.tenant.client.CoreV1().Pods(tenantNamespace)
	if err := pods.Delete(ctx, "barred-0", metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	if i%20 > 0 {
		return g.submit(ctx, member("barred", 0, gated("example.com/never")))
	}
	return g.submit(ctx, member("barred", 0))
}
