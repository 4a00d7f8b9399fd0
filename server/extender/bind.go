package extender

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/core"
	"muster.dev/muster/placement/nomination"
	"muster.dev/muster/predicates"
)

// answerBind answers bind calls by a way to bind pods, which returns what it found also with an error.
func answerBind(log *slog.Logger, bind func(*request) (report, error)) func(*request, *memory) (report, error) {
	return func(q *request, m *memory) (report, error) {
		found, err := bind(q)
		found.outcome = outcomeOf(q.ctx, err)
		switch found.outcome {
		case outcomeOK:
			return found, m.encode(extenderv1.ExtenderBindingResult{})
		case outcomeKept: // by the hundred, and nothing is wrong
		case outcomeGone:
			log.Debug("the pod to bind is gone", "pod", q.fullName(), "node", q.node, "err", err)
		default:
			log.Warn("bind failed", "pod", q.fullName(), "profile", found.profile(), "class", found.class(), "node", q.node, "err", err)
		}
		return found, m.encode(extenderv1.ExtenderBindingResult{Error: told(err)})
	}
}

// outcomeOf returns the outcome of a bind call whose pod was not bound for an error, or nil.
func outcomeOf(ctx context.Context, err error) string {
	switch {
	case err == nil:
		return outcomeOK
	case errors.Is(err, core.ErrKept):
		return outcomeKept
	case errors.Is(err, errNotThere), apierrors.IsNotFound(err):
		return outcomeGone
	case ctx.Err() != nil:
		return outcomeCanceled
	default:
		return outcomeError
	}
}

// bindNowhere binds no pod, as there is no API server.
func bindNowhere(*request) (report, error) { return report{}, errSnapshot }

// Why a pod is not bound, besides what predicates say.
var (
	errSnapshot  = errors.New("muster serves a snapshot of a cluster (--snapshot): there is no API server to bind in")
	errNotThere  = errors.New("no pod of this name and UID waits for a node")
	errElsewhere = errors.New("the pod is on another node already")
	errNoProfile = errors.New("no profile of muster has the pod's scheduler name")
	errNotAsked  = errors.New("filter has not offered this node for the pod: it has to be asked first, and again after a restart of muster")
	errNodeGone  = errors.New("the node is gone")
	errRestless  = errors.New("the cluster changes faster than the pod can be judged")
	errGated     = errors.New("the pod is held back by scheduling gates: nobody can bind it before they are lifted")
	errConflict  = errors.New("the API server says that the pod is bound already, or another one by now")
)

// told returns the text of an error for a caller. The API server's words about a conflict have UIDs in them, which a
// caller who does not know them must not learn.
func told(err error) string {
	switch {
	case apierrors.IsConflict(err) && strings.Contains(err.Error(), ".spec.schedulingGates"):
		return errGated.Error()
	case apierrors.IsConflict(err):
		return errConflict.Error()
	default:
		return err.Error()
	}
}

// pods binds pods at an API server.
type pods struct {
	client kubernetes.Interface
	// time is how long the API server may take to bind a pod.
	time     time.Duration
	cluster  *cluster.Cluster
	profiles *predicates.Profiles
	watch    watch
	offers   *offers
	pace     *pace
	// flights are the bind calls that are being answered.
	flights      *flights
	reservations Reservations
	// send has a pod that has its place be bound now, or when it may.
	send send
}

// send has the API server bind a pod to a node, and returns how long that took, 0 when it was not asked.
type send func(ctx context.Context, pod *cluster.Pod, node string) (took time.Duration, err error)

// newPods binds by the client of the options.
func newPods(o *Options, watch watch, offers *offers, flights *flights) *pods {
	b := &pods{
		client:       o.Client,
		time:         o.BindTime,
		cluster:      o.Cluster,
		profiles:     o.Profiles,
		watch:        watch,
		offers:       offers,
		pace:         newPace(),
		flights:      flights,
		reservations: o.Reservations,
	}
	b.send = b.bindNow
	return b
}

// bind puts a pod on the node that the scheduler picked: a pod that waits, of a profile of muster, on
// a node that filter has offered for it and that it fits still. It is judged and counted there in one
// step, so that no two calls take the same room. A pod that is on that node already is a success.
func (b *pods) bind(q *request) (found report, err error) {
	err = b.flights.do(q.ctx, q.named.UID, q.node, func() (err error) {
		found, err = b.bindOnce(q)
		return err
	})
	return found, err
}

// bindOnce binds a pod about which there is no other call.
func (b *pods) bindOnce(q *request) (report, error) {
	pod := b.watch.pending(q.ctx, &q.named)
	if pod == nil || pod.Name != q.named.Name || pod.Namespace != q.named.Namespace {
		return report{}, b.boundAlready(q)
	}
	// Without a profile the name is anybody's choice, and no label of a metric.
	found := report{subject: subject{pod: pod, store: b.profiles.Of(pod.Spec.SchedulerName)}}
	err := b.takePlace(q, found.subject)
	if err != nil {
		return found, err
	}
	if found.binding, err = b.send(q.ctx, pod, q.node); err == nil {
		b.offers.end(pod.UID)
	}
	return found, err
}

// boundAlready returns the answer about a pod that does not wait: the scheduler may not have got the answer
// to a former call.
func (b *pods) boundAlready(q *request) error {
	pod, node := b.cluster.Placed(q.named.UID)
	switch {
	case pod == nil || pod.Name != q.named.Name || pod.Namespace != q.named.Namespace:
		return errNotThere
	case node != q.node:
		return errElsewhere
	default:
		return nil
	}
}

// bindNow has the API server bind a pod, also when the caller goes away meanwhile: members of a
// gang that has started are all bound, though the scheduler dies in that moment. The pod's UID goes
// along as a precondition, so that a pod of the same name is never bound instead.
func (b *pods) bindNow(caller context.Context, pod *cluster.Pod, node string) (took time.Duration, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(caller), b.time)
	defer cancel()
	b.cluster.Bind(pod.UID, node, b.time+unanswered)
	var started time.Time
	err = b.pace.keep(ctx, func() error {
		started = time.Now()
		return b.client.CoreV1().Pods(pod.Namespace).Bind(ctx, &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
			Target:     corev1.ObjectReference{Kind: "Node", Name: node},
		}, metav1.CreateOptions{})
	})
	if !started.IsZero() {
		took = time.Since(started)
	}
	switch b.became(ctx, pod, node, err, !started.IsZero()) {
	case fateBound:
		b.cluster.Renew(pod.UID)
		return took, nil
	case fateNot:
		b.cluster.Refuse(pod.UID)
	case fateUnknown:
		b.cluster.Bind(pod.UID, node, unanswered)
	}
	return took, err
}

// fate says whether a binding was made.
type fate int

const (
	fateUnknown fate = iota
	fateBound        // the pod is on the node
	fateNot          // it is not, and will not be by that request
)

// became finds out what became of a binding that was sent or not, and ended with an error or nil.
func (b *pods) became(ctx context.Context, pod *cluster.Pod, node string, err error, sent bool) fate {
	switch {
	case err == nil:
		return fateBound
	case !sent, refused(err) && !apierrors.IsConflict(err):
		return fateNot
	case failed(err):
		return b.fateOf(ctx, pod, node)
	case b.boundThere(ctx, pod, node):
		return fateBound
	case refused(err):
		return fateNot
	default:
		return fateUnknown
	}
}

// unanswered is how long the API server may still bind the pod after a call whose fate is unknown, and the watch may
// still have to show it. Then it counts there no more.
const unanswered = 5 * time.Second

// refused reports whether the API server has answered, and has not done what it was asked to.
func refused(err error) bool {
	var answer apierrors.APIStatus
	return errors.As(err, &answer) && answer.Status().Code < http.StatusInternalServerError
}

// failed reports whether the API server has answered that it does not know the outcome of a request which is
// over. A request that it gave up waiting for (504) may go on.
func failed(err error) bool {
	var answer apierrors.APIStatus
	return errors.As(err, &answer) && answer.Status().Code >= http.StatusInternalServerError &&
		answer.Status().Code != http.StatusGatewayTimeout
}

// boundThere reports whether the pod is on the node already, as it is when a call
// was repeated after its answer was lost.
func (b *pods) boundThere(ctx context.Context, pod *cluster.Pod, node string) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fateTime)
	defer cancel()
	there, err := b.client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
	return err == nil && there.UID == pod.UID && there.Spec.NodeName == node
}

// fateTime bounds how long it takes to find out.
const fateTime = time.Second

// fateOf finds out the outcome of a request to bind that has [failed]. It writes to the pod, and so reads it
// back. If the pod is without a node, nothing binds it any more: the API server has ended the request, and etcd
// can only go on with a version of the pod that is gone. A read would leave that open. Where the API server has
// not answered, a write settles nothing: it binds the version that it finds when it tries again.
func (b *pods) fateOf(ctx context.Context, pod *cluster.Pod, node string) fate {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fateTime)
	defer cancel()
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": pod.UID, "annotations": map[string]string{nomination.AnnotationWoken: time.Now().UTC().Format(time.RFC3339Nano)},
	}})
	if err != nil {
		return fateUnknown
	}
	there, err := b.client.CoreV1().Pods(pod.Namespace).Patch(
		ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: cluster.FieldManager}, "status",
	)
	switch {
	case apierrors.IsNotFound(err):
		return fateNot
	case err != nil:
		return fateUnknown
	case there.UID == pod.UID && there.Spec.NodeName == node:
		return fateBound
	default:
		return fateNot
	}
}
