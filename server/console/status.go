package console

import (
	"net/http"

	"muster.dev/muster/inspect"
	"muster.dev/muster/server/remote"
)

// firstGangs is how many of the gangs that wait are named in short.
const firstGangs = 5

func (s *Console) debugStatus(*http.Request) (inspect.Answer, error) {
	snap := s.options.Cluster.Snapshot()
	shown := s.options.Configuration.Show()
	told := remote.Overview{
		Version:  s.options.Process.Version,
		Started:  s.options.Process.Started.UTC(),
		Leads:    s.options.Elected(),
		Snapshot: s.options.Snapshot,
		Config:   remote.Config{File: s.options.Configuration.File(), Since: shown.Since.UTC()},
		Nodes:    snap.NodeCount(),
		Pending:  len(s.options.Cluster.Pending()),
		Gangs:    s.gangsInShort(),
		Usage:    s.usageInShort(),
		Profiles: []remote.Profile{},
	}
	if err := s.options.Readiness.Ready(); err != nil {
		told.Unready = err.Error()
	} else if err := s.options.Readiness.Serving(); err != nil {
		told.StandsBy = err.Error()
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
		if store := s.options.Profiles.Of(profile.SchedulerName); store != nil {
			for _, class := range store.Classes() {
				row.Classes++
				row.Calls += class.Calls
				row.Hits += class.Hits
			}
		}
		told.Profiles = append(told.Profiles, row)
	}
	return overviewPage{&told}, nil
}

func (s *Console) gangsInShort() (told remote.Gangs) {
	if s.options.Gangs == nil {
		return told
	}
	for _, g := range s.options.Gangs.Report() {
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

func (s *Console) usageInShort() *remote.Usage {
	feed := s.options.Usage
	if feed.Keeper == nil {
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

// overviewPage tells of a muster in short.
type overviewPage struct{ *remote.Overview }

// Text implements [inspect.Answer].
func (p overviewPage) Text(t *inspect.Table) {
	t.Title("muster in short")
	p.Overview.Text(t)
}
