package cluster

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// inBubble runs a test of a household that asks.
func inBubble(t *testing.T, test func(h *household)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := newHousehold(t)
		h.ask()
		test(h)
	})
}

func inNamespace(namespace string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Namespace = namespace }
}

// How late a watch is decides nothing: what the API server has does.
func TestAPodWaitsForAnOwnerForAsLongAsThereIsOne(t *testing.T) {
	const unseen, lost = "unseen: lost s, namesake: false", "lost s, namesake: false"
	resource := schema.GroupResource{Group: "example.com", Resource: "sets"}
	for name, test := range map[string]struct {
		uid  types.UID
		err  error
		want string
		asks bool // again and again
	}{
		"it is there":              {uid: "s", want: unseen, asks: true},
		"there is none":            {want: lost},
		"there is another one":     {uid: "other", want: lost},
		"there is no such kind":    {err: apierrors.NewNotFound(resource, ""), want: lost},
		"muster may not read it":   {err: apierrors.NewForbidden(resource, "", nil), want: lost},
		"the server does not tell": {err: errors.New("away"), want: unseen, asks: true},
	} {
		for _, watched := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, its watch runs: %t", name, watched), func(t *testing.T) {
				inBubble(t, func(h *household) {
					if watched {
						h.sets.Watched(nil)
					}
					h.answers(test.uid, test.err)
					set(t, h.Cluster, podObject("p", controlledBy(setKind, "s", "s")))
					h.expect("p", unseen)
					h.after(askAfter - 1)
					if asked := h.questions(); len(asked) > 0 {
						t.Errorf("the watch had no time to show it: %v", asked)
					}
					h.after(time.Second)
					h.expect("p", test.want)
					h.after(time.Hour)
					h.expect("p", test.want)
					if n := len(h.questions()); test.asks && (n < 60 || n > 70) || !test.asks && n != 1 {
						t.Errorf("asked %d times in an hour", n)
					}
					h.sets.Set(setObject("default", "s", "s", 4))
					h.expect("p", "Set s of 4")
					h.after(time.Hour)
					if asked := h.questions(); len(asked) > 0 {
						t.Errorf("asked about what the watch has shown: %v", asked)
					}
					remove(t, h.Cluster, podObject("p"))
					h.expectNothingLeft()
				})
			})
		}
	}
}

// A group that a pod names may be made at any time, where there is such a resource.
func TestAPodWaitsForTheGroupThatItNames(t *testing.T) {
	absent, denied := apierrors.NewNotFound(schema.GroupResource{}, ""), apierrors.NewForbidden(schema.GroupResource{}, "", nil)
	for name, test := range map[string]struct {
		watched func(h *household)
		err     error
		want    string
		asks    bool
	}{
		"its watch has yet to begin":   {func(*household) {}, nil, "unseen: awaited", true},
		"there is no such resource":    {func(*household) {}, absent, "", true},
		"no version of it is read":     {func(h *household) { h.sets.Watched(absent) }, absent, "", true},
		"its watch runs":               {func(h *household) { h.sets.Watched(nil) }, absent, "unseen: awaited", false},
		"muster may not read it":       {func(h *household) { h.sets.Watched(denied) }, nil, "", false},
		"the resource has gone, again": {func(h *household) { h.sets.Watched(nil); h.sets.Drop() }, absent, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(h *household) {
				h.answers("", test.err)
				test.watched(h)
				set(t, h.Cluster, podObject("p", func(pod *corev1.Pod) { pod.Labels = map[string]string{"set": "s"} }))
				h.after(time.Hour)
				h.expect("p", test.want)
				if asked := h.questions(); (len(asked) > 0) != test.asks {
					t.Errorf("asked %v", asked)
				}
				h.sets.Watched(nil)
				h.expect("p", "unseen: awaited")
				h.sets.Set(setObject("default", "s", "s", 4))
				h.expect("p", "Set s of 4")
				remove(t, h.Cluster, podObject("p"))
				h.expectNothingLeft()
			})
		})
	}
}

func TestAnOwnerThatGoesBeforeItIsShownIsMissed(t *testing.T) {
	inBubble(t, func(h *household) {
		h.answers("s", nil)
		set(t, h.Cluster, podObject("p", controlledBy(setKind, "s", "s")))
		h.after(time.Minute)
		h.answers("", nil)
		h.after(askAgain)
		h.expect("p", "lost s, namesake: false")
	})
}

func TestNobodyIsAskedAboutWhatTheWatchShowsInTime(t *testing.T) {
	inBubble(t, func(h *household) {
		for i := range 100 {
			name := fmt.Sprint(i)
			set(t, h.Cluster, podObject(name, controlledBy(setKind, name, name)))
			h.sets.Set(setObject("default", name, name, 4))
		}
		h.after(time.Hour)
		if asked := h.questions(); len(asked) > 0 {
			t.Errorf("asked: %v", asked)
		}
	})
}

// What was not there, of a kind that could not be read, may be once it can be.
func TestAnOwnerIsAskedForAgainOnceItsKindCanBeRead(t *testing.T) {
	inBubble(t, func(h *household) {
		h.answers("", apierrors.NewNotFound(schema.GroupResource{}, ""))
		set(t, h.Cluster, podObject("p", controlledBy(setKind, "s", "s")))
		h.after(time.Minute)
		h.expect("p", "lost s, namesake: false")
		h.answers("s", nil)
		h.sets.Watched(nil)
		h.expect("p", "unseen: lost s, namesake: false")
		h.after(time.Minute)
		h.expect("p", "unseen: lost s, namesake: false")
		h.sets.Watched(apierrors.NewForbidden(schema.GroupResource{}, "", nil))
		h.expect("p", "lost s, namesake: false")
	})
}

func TestAnAnswerFromBeforeTheKindCouldBeReadSaysNothing(t *testing.T) {
	for name, change := range map[string]func(h *household){
		"its watch begins":      func(h *household) { h.sets.Watched(nil) },
		"its definition is new": func(h *household) { h.sets.Drop() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHousehold(t)
				set(t, h.Cluster, podObject("p", controlledBy(setKind, "s", "s")))
				h.after(askAfter)
				one := h.Owners.questions.next()
				h.Owners.askOne(t.Context(), one, func(context.Context, schema.GroupKind, types.NamespacedName) (types.UID, error) {
					change(h)
					return "", nil
				})
				h.expect("p", "unseen: lost s, namesake: false")
				h.answers("", nil)
				h.ask()
				h.after(time.Minute)
				h.expect("p", "lost s, namesake: false")
			})
		})
	}
}

// Somebody who makes thousands of pods and makes up their owners asks little of the API server, and has nobody else wait.
func TestMadeUpOwnersKeepNobodyWaiting(t *testing.T) {
	t.Run("pods of one owner ask once", func(t *testing.T) {
		inBubble(t, func(h *household) {
			for i := range 5000 {
				set(t, h.Cluster, podObject(fmt.Sprint(i), controlledBy(setKind, "s", "s")))
			}
			h.after(time.Hour)
			set(t, h.Cluster, podObject("late", controlledBy(setKind, "s", "s")))
			h.expect("late", "lost s, namesake: false")
			h.after(time.Hour)
			if asked := h.questions(); len(asked) != 1 {
				t.Errorf("asked %d times", len(asked))
			}
		})
	})
	t.Run("others have their turn", func(t *testing.T) {
		inBubble(t, func(h *household) {
			for i := range 5000 {
				name := fmt.Sprint(i)
				set(t, h.Cluster, podObject(name, controlledBy(setKind, name, name), inNamespace("hostile")))
			}
			h.after(time.Minute)
			if asked, most := len(h.questions()), int(time.Minute/askEvery); asked > most {
				t.Errorf("asked %d times in a minute, want %d at most", asked, most)
			}
			set(t, h.Cluster, podObject("p", controlledBy(setKind, "s", "s")))
			h.after(2 * time.Second)
			h.expect("p", "lost s, namesake: false")
			for i := range 5000 {
				remove(t, h.Cluster, podObject(fmt.Sprint(i)))
			}
			remove(t, h.Cluster, podObject("p"))
			h.questions()
			h.after(time.Hour)
			if asked := h.questions(); len(asked) > 0 {
				t.Errorf("asked %d times for pods that are gone", len(asked))
			}
			h.expectNothingLeft()
		})
	})
}
