package server

import (
	"k8s.io/utils/clock"

	"muster.dev/muster/predicates"
	"muster.dev/muster/server/app"
	"muster.dev/muster/server/explanation"
	"muster.dev/muster/server/questions"
)

// newQuestions returns what answers the questions of people who cannot reach the pages, if there is an API server to ask by.
func newQuestions(b *base, a *api, v *view, ahead *ahead, profiles *predicates.Profiles) []app.Component {
	if !a.live() {
		return nil
	}
	explainer := &explanation.Explainer{
		Cluster: b.Cluster, Profiles: profiles, Members: ahead.gangs.Observer, Nominations: ahead.nominator,
		Serving: func() error { return nil }, // who answers leads
	}
	answerer := &questions.Answerer{
		Logger: b.Logger, Clock: clock.RealClock{}, Queue: v.questions, Client: questions.NewClient(a.Leader.Dynamic),
		Answer: explainer.Answer,
	}
	return []app.Component{app.Part("questions", app.Leading, answerer.Run)}
}
