package backfill

import (
	"fmt"
	"strings"
	"time"

	"muster.dev/muster/gang"
	"muster.dev/muster/placement/runtimes"
)

// whyNot says in words why no room is booked for a gang whose turn it is, "" when it may be.
func whyNot(outlook *gang.Outlook, ends *runtimes.Ends) string {
	unknown := ends.Running - len(ends.Of)
	switch too := tooLarge(outlook); {
	case too != "":
		return too
	case outlook.Fits():
		return ""
	case unknown > 0:
		return fmt.Sprintf("the ends of %d of %s that run are unknown, and there is no room once the others have ended",
			unknown, pods(ends.Running))
	default:
		return "there is no room even once all pods have ended that run"
	}
}

// tooLarge says in words that a gang asks for more than may be booked, "" if it does not.
func tooLarge(outlook *gang.Outlook) string {
	if too := immodest(outlook.Places, outlook.Snapshot); too != "" {
		return fmt.Sprintf("it asks for more than half of the %s that all nodes have together", too)
	}
	return ""
}

// mostNamed is how many pods are named that have to end.
const mostNamed = 3

// bookedWords says in words from when room is booked for a gang, and what has to end until then. Who reads them may read pods of the
// gang's own namespace alone, so the others are only counted.
func bookedWords(booked *Booked, outlook *gang.Outlook, now time.Time) string {
	ending := endsOnPlaces(outlook)
	if len(ending) == 0 {
		return "room is booked, and is there now"
	}
	layout := "15:04 MST"
	if booked.From.Sub(now) > 12*time.Hour {
		layout = "2006-01-02 15:04 MST"
	}
	text := fmt.Sprintf("room is booked from about %s, when %s ended", booked.From.UTC().Format(layout), have(len(ending)))
	var named []string
	for _, end := range ending {
		if end.Pod.Namespace == booked.Key.Namespace && len(named) < mostNamed {
			named = append(named, end.Pod.Name)
		}
	}
	if len(named) == 0 {
		return text
	}
	text += ": " + strings.Join(named, ", ")
	if others := len(ending) - len(named); others > 0 {
		text += fmt.Sprintf(" and %d more", others)
	}
	return text
}

// endsOnPlaces returns the ends that have to come first: on the nodes that a gang would have, and the last one, without which there is no
// room.
func endsOnPlaces(outlook *gang.Outlook) (ends []runtimes.End) {
	on := map[string]bool{}
	for _, place := range outlook.Places {
		on[outlook.Snapshot.Node(place.Node).Name] = true
	}
	for i, end := range outlook.Ends {
		if on[end.Node.Name] || i == len(outlook.Ends)-1 {
			ends = append(ends, end)
		}
	}
	return ends
}

func pods(count int) string {
	if count == 1 {
		return "1 pod"
	}
	return fmt.Sprintf("%d pods", count)
}

// have says that pods have done what follows.
func have(count int) string {
	if count == 1 {
		return "1 pod has"
	}
	return pods(count) + " have"
}
