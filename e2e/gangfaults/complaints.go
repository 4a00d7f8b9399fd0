package gangfaults

import (
	"fmt"
	"regexp"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// unknownVictim is a complaint of kube-scheduler about a victim that it does not have, with when
// it was written and the UID.
var unknownVictim = regexp.MustCompile(`^E(\d{4} \d\d:\d\d:\d\d\.\d+).* claims to preempt pod \(UID: &\{([^}]+)\}\)`)

// judgeComplaints leaves out what kube-scheduler says of victims that had gone by then: its watch may
// be ahead of muster's, and it tries again. The others are told with what became of the victim.
func judgeComplaints(words []finding, history []entry) (findings []finding) {
	for _, f := range words {
		match := unknownVictim.FindStringSubmatch(f.text)
		if f.what != complained || match == nil {
			findings = append(findings, f)
			continue
		}
		bound, gone := lifeOf(types.UID(match[2]), history)
		if said, err := time.ParseInLocation("0102 15:04:05.000000", match[1], time.Local); err == nil && !gone.IsZero() {
			if said = said.AddDate(gone.Year(), 0, 0); !gone.After(said) {
				continue
			}
		}
		f.text += fmt.Sprintf(" (the watch shows it bound at %s and gone at %s)", clockTime(bound), clockTime(gone))
		findings = append(findings, f)
	}
	return findings
}

// lifeOf is when a pod was first seen on a node, and gone; zero for never.
func lifeOf(uid types.UID, history []entry) (bound, gone time.Time) {
	for _, e := range history {
		switch {
		case e.pod == nil || e.pod.UID != uid:
		case e.gone:
			gone = e.at
		case e.pod.Spec.NodeName != "" && bound.IsZero():
			bound = e.at
		}
	}
	return bound, gone
}

// clockTime is a time as kube-scheduler logs it.
func clockTime(t time.Time) string {
	if t.IsZero() {
		return "no time"
	}
	return t.Local().Format("15:04:05.000000")
}
