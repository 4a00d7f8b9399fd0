package console

import (
	"net/http"

	"muster.dev/muster/inspect"
	"muster.dev/muster/server/history"
)

// historyPage is the last hour, the latest minute last.
type historyPage struct {
	Minutes []history.Minute `json:"minutes"`
}

func (s *Console) debugHistory(*http.Request) (inspect.Answer, error) {
	return historyPage{append([]history.Minute{}, s.options.History.Minutes()...)}, nil
}

// Text implements [inspect.Answer].
func (p historyPage) Text(t *inspect.Table) {
	t.Title("the last hour, as far as this process runs: what waited at the end of each minute, and what happened in it")
	t.Row("UNTIL", "PODS WAITING", "GANGS WAITING", "PODS BOUND", "CALLS", "FAILED CALLS")
	for _, m := range p.Minutes {
		t.Row(inspect.Time(m.End), m.PodsWaiting, m.GangsWaiting, m.PodsBound, m.Calls, m.FailedCalls)
	}
}
