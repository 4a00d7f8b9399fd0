package explanation

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/explanation/v1alpha1"
	"muster.dev/muster/inspect"
)

// Answer answers what is asked in a namespace, in brief. When it was asked is for the caller to say.
func (x *Explainer) Answer(namespace string, asked v1alpha1.QuestionSpec) v1alpha1.QuestionStatus {
	of, name := asked.Subject()
	if name == "" {
		return absent("spec.about must be pod/NAME or gang/NAME")
	}
	about := types.NamespacedName{Namespace: namespace, Name: name}
	if of == v1alpha1.Gang {
		return x.answerGang(about)
	}
	return x.answerPod(about)
}

func (x *Explainer) answerPod(name types.NamespacedName) v1alpha1.QuestionStatus {
	pod := x.Cluster.FindPod(name)
	if pod == nil {
		return absent("pod " + name.String() + " is not known: there is none that waits or runs")
	}
	whole, _ := x.Pod(pod) // the error is told as NoProfile
	told := whole.brief(name.Namespace)
	answer := v1alpha1.QuestionStatus{
		Generation: int64(told.Generation), Outcome: v1alpha1.Waits, //nolint:gosec // a number of changes
		Summary: cut("pod "+told.Pod.Pod+" "+told.State(), v1alpha1.MaxSummary), Text: printed(told),
	}
	if told.Placed() {
		answer.Outcome = v1alpha1.GoesOn
	}
	if told.NoProfile == "" {
		room := &told.Room
		answer.Nodes = &v1alpha1.Nodes{All: room.All, Fit: room.Fit, Yield: room.Yield, Full: room.Full, Refuse: room.Refuse}
	}
	for _, r := range told.refused[:min(len(told.refused), v1alpha1.MaxRefusals)] {
		answer.Refusals = append(answer.Refusals, v1alpha1.Refusal{Predicate: r.Predicate, Reason: r.Reason, Nodes: r.Nodes})
	}
	return answer
}

func (x *Explainer) answerGang(name types.NamespacedName) v1alpha1.QuestionStatus {
	told := x.Gangs(name).brief()
	if len(told.Gangs) == 0 {
		return absent("gang " + name.String() + " is not known: no pod that waits or runs is its member")
	}
	first := &told.Gangs[0]
	for i := range told.Gangs {
		if told.Gangs[i].Why != "" {
			first = &told.Gangs[i]
			break
		}
	}
	answer := v1alpha1.QuestionStatus{
		Generation: int64(first.Generation), Outcome: v1alpha1.GoesOn, //nolint:gosec // a number of changes
		Summary: cut(first.State(), v1alpha1.MaxSummary), Text: printed(told),
	}
	if told.Waits() {
		answer.Outcome = v1alpha1.Waits
	}
	if first.Places != nil {
		answer.Places = &v1alpha1.Places{Wanted: first.Places.Wanted, Found: first.Places.Found}
	}
	return answer
}

// absent is the answer about what is not known.
func absent(why string) v1alpha1.QuestionStatus {
	why = cut(why, v1alpha1.MaxSummary)
	return v1alpha1.QuestionStatus{Outcome: v1alpha1.NotFound, Summary: why, Text: why + "\n"}
}

// printed returns an answer as people read it, as far as there is room.
func printed(told inspect.Answer) string {
	var text strings.Builder
	_ = inspect.Print(&text, told, inspect.Text) // into memory
	return cut(text.String(), v1alpha1.MaxText)
}

// cutOff ends what was cut.
const cutOff = "…"

// cut returns as much of a text as a number of bytes holds: whole lines, unless the first is too long.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	kept := strings.ToValidUTF8(text[:most-len(cutOff)-1], "")
	if end := strings.LastIndexByte(kept, '\n'); end >= 0 {
		return kept[:end+1] + cutOff + "\n"
	}
	return kept + cutOff
}
