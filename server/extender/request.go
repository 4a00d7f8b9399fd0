package extender

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/go-faster/jx"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
	"muster.dev/muster/server/body"
	"muster.dev/muster/server/wire"
)

// request holds the question of a call. It is filled in as the body is read, and nothing changes it then.
type request struct {
	ctx context.Context //nolint:containedctx // a request lives as long as its call
	// named is the pod as the caller names it.
	named wire.Pod
	// subject is that pod as it was found. bind looks for it only when its turn has come.
	subject
	// unserved is why no profile serves the pod, "" where one does.
	unserved string
	// nodes are the candidates of filter and prioritize. objects are theirs, in their order, if the caller posts
	// whole nodes, and then is answered with those.
	nodes   candidates
	objects []jx.Raw
	whole   bool
	// proposed are the victims that kube-scheduler proposes to preempt.
	proposed victims
	// node is where bind is to bind the pod.
	node string
}

// fullName returns the namespace and the name of the pod.
func (q *request) fullName() string { return q.named.Namespace + "/" + q.named.Name }

// report returns what a verb found about the subject of a request.
func (q *request) report(outcome string) report { return report{subject: q.subject, outcome: outcome} }

// report holds the findings of a verb. Metrics, traces and the log tell of it.
type report struct {
	subject
	outcome string
	// binding is how long the API server took to bind the pod, 0 when it was not asked.
	binding time.Duration
}

// subject is the pod that a call is about.
type subject struct {
	// pod is as the watch shows it, or as the caller posts it. It is nil until it is found.
	pod *cluster.Pod
	// store holds the verdicts of the pod's profile, nil while the profile is not known.
	store *predicates.VerdictStore
	// stranger says that the watch does not show the pod as one without a node.
	stranger bool
}

// profile returns the name of the pod's profile, "" while it is not known.
func (s *subject) profile() string {
	if s.store == nil {
		return ""
	}
	return s.store.Profile.Name
}

// class returns the hash of the equivalence class that the pod is of, as at /debug/equivalence; ""
// when it has none, or is not known.
func (s *subject) class() string {
	if s.pod == nil || s.store == nil {
		return ""
	}
	return s.store.HashOf(s.pod)
}

// picksNode reports whether muster picks the node of the pod, and not kube-scheduler.
func (s *subject) picksNode() bool {
	return s.store.Profile.NodeSelection == config.NodeSelectionMuster
}

// view returns the profile's view of the pod. Nothing is remembered of a stranger.
func (s *subject) view() predicates.View {
	if s.stranger {
		return s.store.ViewAlone(s.pod)
	}
	return s.store.View(s.pod)
}

// keepBytes is the largest buffer that is kept for the next call: a request and
// an answer about 15,000 nodes fit well.
const keepBytes = 4 << 20

// memory serves calls, one after the other. A step returns what it found, which may be slices of the memory: they are
// valid until the same is asked again. No step reads what another one has left there.
type memory struct {
	share body.Share // of the memory for bodies
	body  []byte
	// reply is the JSON answer that the verb writes.
	reply   jx.Writer
	unknown jx.Writer // has the name of a node that is not known
	decoder jx.Decoder
	args    wire.Args
	reading reading
	ranking
}

// hold has the memory for bodies account for what is about to be decoded.
func (m *memory) hold(bytes int64) error {
	if err := m.share.Take(bytes); err != nil {
		return refusedBody(err)
	}
	return nil
}

// letGo gives the body back, which nothing needs any more: the call may be held for long.
func (m *memory) letGo() {
	m.body = nil
	m.share.GiveBack()
}

// encode writes a small answer.
func (m *memory) encode(answer any) error {
	encoded, err := json.Marshal(answer)
	if err != nil {
		return fmt.Errorf("encoding the answer: %w", err)
	}
	m.reply.Raw(encoded)
	return nil
}

// read reads the body of filter and prioritize, and finds its pod.
func (e *Extender) read(body []byte, q *request, m *memory) error {
	if err := e.decode(body, q, m); err != nil {
		return err
	}
	return e.find(q, m)
}

func (e *Extender) decode(body []byte, q *request, m *memory) error {
	var o *order
	select {
	case o = <-e.orders:
	default:
		o = new(order)
	}
	defer func() {
		select {
		case e.orders <- o:
		default: // enough are kept
		}
	}()
	m.reading.reset(e.watch.cluster.Snapshot().NodeNames, o)
	err := m.args.Read(&m.decoder, body, &m.reading)
	q.named, q.nodes, q.objects, q.whole = m.args.Pod, m.reading.candidates, m.args.Nodes, m.args.WholeNodes
	if err != nil {
		return badRequest(err)
	}
	return nil
}

// readPreempt reads the body of preempt, and finds its pod.
func (e *Extender) readPreempt(body []byte, q *request, m *memory) error {
	var args wire.PreemptArgs
	if err := args.Read(&m.decoder, body, podsOn(e.picker.cluster.Snapshot())); err != nil {
		return badRequest(err)
	}
	q.named, q.proposed = args.Pod, args.Victims
	return e.find(q, m)
}

// podsOn tells how many pods there are on the nodes of a snapshot.
func podsOn(snap *cluster.Snapshot) wire.Node {
	return func(name []byte) (pods int, known bool) {
		node := snap.Node(snap.NodeNames.Index(name))
		if node == nil {
			return 0, false
		}
		return len(node.Pods), true
	}
}

// readBind reads the body of bind.
func readBind(body []byte, q *request, m *memory) error {
	args, err := wire.ReadBind(&m.decoder, body)
	if err != nil {
		return badRequest(err)
	}
	q.named, q.node = wire.Pod{Namespace: args.PodNamespace, Name: args.PodName, UID: args.PodUID}, args.Node
	return nil
}

var errOtherPod = errors.New("Pod: metadata: another pod has this uid") //nolint:staticcheck // the field is spelled so

// find finds the pod that a request names, or takes it as it is posted, and its profile.
func (e *Extender) find(q *request, m *memory) error {
	if q.pod = e.watch.pending(q.ctx, &q.named); q.pod == nil {
		q.stranger = true
		posted, err := e.posted(&q.named, m)
		if err != nil {
			return err
		}
		q.pod = posted
	} else if q.pod.Name != q.named.Name || q.pod.Namespace != q.named.Namespace {
		q.subject = subject{stranger: true}
		return badRequest(errOtherPod)
	}
	store, err := e.profiles.Named(q.pod.Spec.SchedulerName)
	if err != nil {
		q.unserved = err.Error()
	}
	q.store = store
	return nil
}

// posted returns a pod as it is posted.
func (e *Extender) posted(named *wire.Pod, m *memory) (*cluster.Pod, error) {
	if err := m.hold(named.Memory()); err != nil {
		return nil, err
	}
	object, err := named.Object()
	if err != nil {
		return nil, badRequest(err)
	}
	// As the watch would keep it, so that it is judged as if it were there. No kubelet has resized it: to look up the
	// status of each container takes the square of their number.
	object.Status.ContainerStatuses, object.Status.InitContainerStatuses = nil, nil
	if _, err := cluster.Trim(object); err != nil {
		return nil, badRequest(err)
	}
	return e.watch.cluster.Foreseen(cluster.NewPod(object)), nil
}

// watchLag is how long a call about a pod waits for the watch to show it: kube-scheduler has a watch
// of its own, which may be ahead. While it lasts this process would decide on an old view anyway.
const watchLag = 500 * time.Millisecond

// watch finds the pods without a node that the watch shows.
type watch struct {
	cluster *cluster.Cluster
	// lag is how long the watch may be behind kube-scheduler's. It is 0 where nothing more will be shown.
	lag time.Duration
}

// newWatch waits for pods where there is an API server.
func newWatch(o *Options) watch {
	if o.Client == nil {
		return watch{cluster: o.Cluster}
	}
	return watch{cluster: o.Cluster, lag: watchLag}
}

// pending returns the pod that a request names as the watch shows it, nil for a stranger.
func (w *watch) pending(ctx context.Context, p *wire.Pod) *cluster.Pod {
	switch {
	case p.UID == "": // written by hand
		return nil
	case w.lag == 0:
		return w.cluster.PendingPod(p.UID)
	default:
		return w.cluster.AwaitPending(ctx, p.UID, w.lag)
	}
}
