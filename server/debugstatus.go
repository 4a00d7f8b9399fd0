package server

import (
	"cmp"
	"net/http"
	"strings"

	"muster.dev/muster/inspect"
	"muster.dev/muster/server/remote"
)

// firstGangs is how many of the gangs that wait are named in short.
const firstGangs = 5

func (s *Server) debugStatus(*http.Request) (inspect.Answer, error) {
	snap := s.cluster.Snapshot()
	shown := s.reloader.show()
	told := remote.Overview{
		Version:  s.process.Version,
		Started:  s.process.Started.UTC(),
		Leads:    s.candidate != nil && s.readiness.leading.Load() && s.readiness.fence.Check() == nil,
		Config:   remote.Config{File: s.reloader.file.Path, Since: shown.Since.UTC()},
		Nodes:    snap.NodeCount(),
		Pending:  len(s.cluster.Pending()),
		Gangs:    s.gangsInShort(),
		Usage:    s.usageInShort(),
		Profiles: []remote.Profile{},
	}
	if err := s.readiness.ready(); err != nil {
		told.Unready = err.Error()
	}
	if shown.Refused != nil {
		told.Config.Refused = shown.Refused.Errors
	}
	for node := range snap.Nodes() {
		told.Pods += len(node.Pods)
	}
	for i := range shown.Config.Profiles {
		profile := &shown.Config.Profiles[i]
		row := remote.Profile{Profile: profile.SchedulerName, NodeSelection: string(profile.NodeSelection)}
		if store := s.extender.profiles.Of(profile.SchedulerName); store != nil {
			for _, class := range store.Classes() {
				row.Classes++
				row.Calls += class.Calls
				row.Hits += class.Calls - class.Misses
			}
		}
		told.Profiles = append(told.Profiles, row)
	}
	return overviewPage{&told}, nil
}

func (s *Server) gangsInShort() (told remote.Gangs) {
	if s.extender.gangs == nil {
		return told
	}
	for _, g := range s.extender.gangs.Report() {
		switch {
		case g.Why != "":
			told.Waiting++
			if len(told.First) < firstGangs {
				told.First = append(told.First, remote.WaitingGang{Gang: g.Name, Why: g.Why})
			}
		case g.Pending+g.Placed+g.Held+g.Binding > 0:
			told.Starting++
		default:
			told.Started++
		}
	}
	return told
}

func (s *Server) usageInShort() *remote.Usage {
	feed := s.load.usage
	if feed == nil || feed.Keeper == nil {
		return nil
	}
	told := &remote.Usage{Status: feed.Health.Status()}
	for _, age := range feed.Keeper.Ages() {
		if age < 0 {
			continue
		}
		if told.Nodes == 0 || age.Seconds() < told.NewestSeconds {
			told.NewestSeconds = seconds(age)
		}
		told.OldestSeconds = max(told.OldestSeconds, seconds(age))
		told.Nodes++
	}
	return told
}

// overviewPage is what a muster tells of itself in short.
type overviewPage struct{ *remote.Overview }

// Text implements [inspect.Answer].
func (p overviewPage) Text(t *inspect.Table) {
	t.Title("muster in short")
	p.Overview.Text(t)
}

// pendingPage is the pods that have no node.
type pendingPage struct{ remote.Pending }

func (s *Server) debugPending(*http.Request) (inspect.Answer, error) {
	page := pendingPage{remote.Pending{Pods: []remote.PendingPod{}}}
	for _, pod := range s.cluster.Pending() {
		row := remote.PendingPod{
			Pod:       pod.Namespace + "/" + pod.Name,
			Scheduler: pod.Spec.SchedulerName,
			Created:   pod.CreationTimestamp.UTC(),
			Nominated: pod.Status.NominatedNodeName,
		}
		for _, gate := range pod.Spec.SchedulingGates {
			row.Gates = append(row.Gates, gate.Name)
		}
		page.Pods = append(page.Pods, row)
	}
	return page, nil
}

// Text implements [inspect.Answer].
func (p pendingPage) Text(t *inspect.Table) {
	t.Title("%d pods have no node", len(p.Pods))
	t.Row("POD", "SCHEDULER", "CREATED", "NOMINATED", "GATES")
	for i := range p.Pods {
		pod := &p.Pods[i]
		t.Row(pod.Pod, pod.Scheduler, when(pod.Created), cmp.Or(pod.Nominated, "-"), cmp.Or(strings.Join(pod.Gates, ","), "-"))
	}
}
