package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/config/v1alpha2"
	"muster.dev/muster/cluster"
	"muster.dev/muster/inspect"
	"muster.dev/muster/predicates"
	"muster.dev/muster/server/body"
	"muster.dev/muster/server/extender"
)

// musterView is a scenario as muster sees it.
type musterView struct {
	snapshot *cluster.Snapshot
	nodes    []*cluster.Node // in the scenario's order
	pending  []*cluster.Pod
}

// lookWithMuster fills a cluster as the watch does, pods before nodes included.
func lookWithMuster(s *Scenario) (*musterView, error) {
	c := newCluster(prometheus.NewRegistry(), math.MaxInt64)
	placed, objects := plainly(s.Placed), s.Objects.all()
	somePods, someObjects := len(placed)/2, len(objects)/2
	if err := set(c, slices.Concat(
		placed[:somePods], objects[:someObjects], plainly(s.Nodes), placed[somePods:], objects[someObjects:],
	)...); err != nil {
		return nil, err
	}
	view := &musterView{snapshot: c.Snapshot()}
	for _, node := range s.Nodes {
		view.nodes = append(view.nodes, view.snapshot.NodeByName(node.Name))
	}
	for _, pod := range s.Pending {
		pod, err := trimmed(pod)
		if err != nil {
			return nil, err
		}
		if err := resolveClaims(c, pod); err != nil {
			return nil, err
		}
		view.pending = append(view.pending, pod)
	}
	return view, nil
}

// resolveClaims gives a pod that asks the claims that it has where it waits. A node that it wishes for is none that it
// is on.
func resolveClaims(c *cluster.Cluster, pod *cluster.Pod) error {
	waiting := pod.DeepCopy()
	waiting.Spec.NodeName = ""
	if err := c.Set(waiting); err != nil {
		return err
	}
	resolved := c.PendingPod(pod.UID)
	pod.Claims, pod.ClaimProblem = resolved.Claims, resolved.ClaimProblem
	return c.Delete(waiting)
}

func newCluster(registry *prometheus.Registry, assumeTTL time.Duration) *cluster.Cluster {
	return cluster.New(cluster.Options{Logger: slog.New(slog.DiscardHandler), Registerer: registry, AssumeTTL: assumeTTL})
}

// newStore remembers a number of bytes of verdicts.
func newStore(
	cfg *config.Profile, c *cluster.Cluster, bytes int64, registry *prometheus.Registry, more ...predicates.Plugin,
) (*predicates.VerdictStore, error) {
	profile, err := predicates.NewProfile(cfg, more...)
	if err != nil {
		return nil, fmt.Errorf("muster: %w", err)
	}
	return predicates.NewVerdictStore(profile, c, bytes, predicates.NewStoreMetrics(registry), clock.RealClock{}), nil
}

// set applies that objects were added or changed, as the watch does it.
func set[T runtime.Object](c *cluster.Cluster, objects ...T) error {
	for _, object := range objects {
		trimmed, err := cluster.Trim(object.DeepCopyObject())
		if err != nil {
			return err
		}
		if err := c.Set(trimmed.(runtime.Object)); err != nil {
			return err
		}
	}
	return nil
}

// trimmed is a pod as muster has it of a call.
func trimmed(pod *corev1.Pod) (*cluster.Pod, error) {
	object, err := cluster.Trim(pod.DeepCopy())
	if err != nil {
		return nil, err
	}
	return cluster.NewPod(object.(*corev1.Pod)), nil
}

func (v *musterView) answer(profile Profile) (answers, error) {
	cfg, err := profile.config()
	if err != nil {
		return nil, err
	}
	ours, err := predicates.NewProfile(cfg)
	if err != nil {
		return nil, fmt.Errorf("muster: %w", err)
	}
	all := make(answers, len(v.pending))
	for i, pod := range v.pending {
		judgement := ours.Judge(pod, v.snapshot)
		all[i] = make([]Answer, len(v.nodes))
		var fitting []int32
		var answers []*Answer
		for j, node := range v.nodes {
			all[i][j] = answerOf(judgement, node)
			if all[i][j].Code == fwk.Success {
				fitting, answers = append(fitting, node.Index), append(answers, &all[i][j])
			}
		}
		totals := make([]int64, len(fitting))
		judgement.Rank(fitting, totals)
		for j, answer := range answers {
			answer.Score = totals[j]
		}
	}
	return all, nil
}

func answerOf(judgement *predicates.Judgement, node *cluster.Node) Answer {
	verdict := judgement.Verdict(node)
	if verdict == predicates.Fits {
		return Answer{Code: fwk.Success}
	}
	answer := Answer{Code: fwk.UnschedulableAndUnresolvable, Reasons: []string{judgement.Reason(verdict)}}
	if verdict.Resolvable() {
		answer.Code = fwk.Unschedulable
	}
	if verdict.OfRoom() { // kube-scheduler names all that is short, and muster does to people
		answer.Reasons = nil
		for _, objection := range judgement.Reasons(node) {
			if objection.Predicate == config.NodeResourcesFit {
				answer.Reasons = append(answer.Reasons, objection.Reason)
			}
		}
	}
	return answer
}

// config is the profile as muster reads it from its configuration.
func (p Profile) config() (*config.Profile, error) {
	cfg, err := v1alpha2.Decode(p.document())
	if err != nil {
		return nil, fmt.Errorf("muster: %w", err)
	}
	return &cfg.Profiles[0], nil
}

// document is the configuration file that says the same as the profile.
func (p Profile) document() []byte {
	type object map[string]any
	all := []object{{"name": config.AllPlugins}}
	filter, score, args := []object{}, []object{}, []object{}
	for _, name := range p.Filter {
		filter = append(filter, object{"name": name})
	}
	for _, plugin := range p.Score {
		score = append(score, object{"name": plugin.Name, "weight": plugin.Weight})
	}
	for _, plugin := range plugins() {
		if p.Args[plugin.name] != nil {
			args = append(args, object{"name": plugin.name, "args": p.Args[plugin.name]})
		}
	}
	data, err := json.Marshal(object{
		"apiVersion": v1alpha2.APIVersion,
		"kind":       v1alpha2.Kind,
		"profiles": []object{{
			"plugins": object{
				"filter": object{"disabled": all, "enabled": filter},
				"score":  object{"disabled": all, "enabled": score},
			},
			"pluginConfig": args,
		}},
	})
	if err != nil {
		panic(err) // it is made of strings and numbers
	}
	return data
}

// serve has muster serve its verbs about a scenario, with a profile and a way to break ties, nil for a random one.
func serve(s *Scenario, cfg *config.Profile, pick func(n int) int) (*cluster.Cluster, *predicates.VerdictStore, http.Handler, error) {
	registry := prometheus.NewRegistry()
	c := newCluster(registry, math.MaxInt64)
	if err := set(c, slices.Concat(
		plainly(s.Nodes), s.Objects.all(), plainly(s.Placed), plainly(s.Nominated), plainly(s.Pending),
	)...); err != nil {
		return nil, nil, nil, err
	}
	store, err := newStore(cfg, c, math.MaxInt64, registry)
	if err != nil {
		return nil, nil, nil, err
	}
	options := verbOptions(registry, c, predicates.NewProfiles(store))
	options.Pick = pick
	return c, store, inspect.Router(extender.New(options).Endpoints()...), nil
}

func verbOptions(registry *prometheus.Registry, c *cluster.Cluster, profiles *predicates.Profiles) extender.Options {
	return extender.Options{
		Logger: slog.New(slog.DiscardHandler), Registerer: registry, Cluster: c, Profiles: profiles,
		Bodies: body.NewReaders(registry, body.Limits{Body: 1 << 20, InFlight: 1 << 30, Timeout: time.Minute}),
		Ready:  func() error { return nil },
	}
}

// call calls a verb of muster as kube-scheduler does.
func call(verbs http.Handler, verb string, request, answer any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	post, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "/"+verb, bytes.NewReader(body))
	if err != nil {
		return err
	}
	reply := httptest.NewRecorder()
	verbs.ServeHTTP(reply, post)
	if reply.Code != http.StatusOK {
		return fmt.Errorf("%s answers %d: %s", verb, reply.Code, reply.Body)
	}
	return json.Unmarshal(reply.Body.Bytes(), answer)
}
