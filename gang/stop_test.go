package gang

import (
	"context"
	"errors"
	"testing"
	"time"

	"muster.dev/muster/gang/core"
	"muster.dev/muster/gang/record"
)

func (p *process) wantStopped(when string, calls ...*call) {
	p.Helper()
	for _, call := range calls {
		if call.held() || !errors.Is(call.err, core.ErrStopped) {
			p.Errorf("%s, %s is held: %t, error %v, want %v", when, call.pod.Name, call.held(), call.err, core.ErrStopped)
		}
	}
}

func TestHeldCallsEndWithTheProcessThatLooksAfterThem(t *testing.T) {
	run(t, func(p *process) {
		pods := members("g", 3, "1")
		p.set(node("a", "8"), podGroup("g", 3))
		p.set(objects(pods)...)
		p.after(time.Second)
		calls := p.start(pods[:1]...)
		p.wantHeld("before it stops", true, calls...)
		p.stop()
		p.wantStopped("when it stops", calls...)
		p.wantStopped("with the port closed already", p.start(pods[1])...)
		if assumed := p.cluster.Assumed(pods[0].UID); assumed != "" {
			t.Errorf("%s counts on %s still", pods[0].Name, assumed)
		}
	})
}

func TestAStartThatIsBeingRecordedIsFinishedByTheProcessThatStops(t *testing.T) {
	for _, test := range []struct {
		name  string
		err   error
		ended func(p *process, calls []*call)
	}{
		{"it is recorded", nil, func(p *process, calls []*call) { p.wantHeld("when it is recorded", false, calls...) }},
		{
			"the PodGroup has changed", record.ErrChanged,
			func(p *process, calls []*call) { p.wantStopped("when it may not be recorded", calls...) },
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			run(t, func(p *process) {
				pods := members("g", 2, "1")
				p.set(node("a", "8"), podGroup("g", 2))
				p.set(objects(pods)...)
				p.after(time.Second)
				answer := make(chan error)
				p.troubled(func(context.Context) error { return <-answer })
				calls := p.start(pods...)
				p.stop()
				p.wantHeld("while it is written", true, calls...)
				answer <- test.err
				test.ended(p, calls)
			})
		})
	}
}
