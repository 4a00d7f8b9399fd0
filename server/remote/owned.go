package remote

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"muster.dev/muster/api/spelling"
	"muster.dev/muster/inspect"
	"muster.dev/muster/server/explanation"
)

// mostAsked is how many pods that wait for different things are asked about.
const mostAsked = 8

// Owner names an object that owns a pod, or an owner of it, in the pod's namespace.
type Owner struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// Owned tells why pods of an object wait.
type Owned struct {
	Owner
	Namespace string `json:"namespace"`
	// Waiting are its pods that have no node, the ones that most wait for first.
	Waiting []Alike `json:"waiting"`
}

// Alike is pods that wait for the same.
type Alike struct {
	Why  string   `json:"why"`
	Pods []string `json:"pods"` // their names
	// Explanation is of the first one, nil where nobody has asked about it. Gangs is why its gang waits, if that was asked.
	Explanation *explanation.Pod   `json:"explanation,omitempty"`
	Gangs       *explanation.Gangs `json:"gangs,omitempty"`
}

// Owners returns the objects of a kind that have pods which wait, namespace/name.
func (c *Client) Owners(ctx context.Context, kind string) ([]string, error) {
	var pending Pending
	if err := c.get(ctx, "/debug/pending", &pending); err != nil {
		return nil, err
	}
	return pending.owners(kind), nil
}

func (p *Pending) owners(kind string) (names []string) {
	for i := range p.Pods {
		namespace, _, _ := strings.Cut(p.Pods[i].Pod, "/")
		for _, owner := range p.Pods[i].Owners {
			if name := namespace + "/" + owner.Name; owner.Kind == kind && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// Owned asks why pods of an object wait, and about one of each that wait for the same.
func (c *Client) Owned(ctx context.Context, kind, namespace, name string) (*Owned, error) {
	var pending Pending
	if err := c.get(ctx, "/debug/pending", &pending); err != nil {
		return nil, err
	}
	told := &Owned{Owner: Owner{Kind: kind, Name: name}, Namespace: namespace, Waiting: pending.alike(Owner{kind, name}, namespace)}
	if nearest := spelling.Nearest(namespace+"/"+name, pending.owners(kind)); len(told.Waiting) == 0 && nearest != "" {
		return nil, &AbsentError{fmt.Sprintf("no pod of %s waits, did you mean %s?", told.title(), nearest)}
	}
	for i := range told.Waiting[:min(mostAsked, len(told.Waiting))] {
		about, err := c.Explain(ctx, namespace, told.Waiting[i].Pods[0])
		if err != nil {
			return nil, err
		}
		told.Waiting[i].Explanation = about
	}
	return told, nil
}

// alike returns the pods of an owner by what they wait for.
func (p *Pending) alike(owner Owner, in string) []Alike {
	found := []Alike{}
	for i := range p.Pods {
		pod := &p.Pods[i]
		namespace, name, _ := strings.Cut(pod.Pod, "/")
		if namespace != in || !slices.Contains(pod.Owners, owner) {
			continue
		}
		at := slices.IndexFunc(found, func(a Alike) bool { return a.Why == pod.Why })
		if at < 0 {
			at, found = len(found), append(found, Alike{Why: pod.Why})
		}
		found[at].Pods = append(found[at].Pods, name)
	}
	slices.SortStableFunc(found, func(a, b Alike) int { return cmp.Compare(len(b.Pods), len(a.Pods)) })
	return found
}

// WhyOwned is Owned that asks also why the gangs of these pods wait.
func (c *Client) WhyOwned(ctx context.Context, kind, namespace, name string) (*Owned, error) {
	told, err := c.Owned(ctx, kind, namespace, name)
	if err != nil {
		return nil, err
	}
	for i := range told.Waiting {
		alike := &told.Waiting[i]
		if alike.Explanation == nil || alike.Explanation.Gang == nil {
			continue
		}
		_, gang, _ := strings.Cut(alike.Explanation.Gang.Gang, "/")
		if alike.Gangs, err = c.WhyGang(ctx, namespace, gang); err != nil {
			return nil, err
		}
	}
	return told, nil
}

// Placed says that each of its pods that were asked about has a node that it fits on.
func (o *Owned) Placed() bool {
	return !slices.ContainsFunc(o.Waiting, func(a Alike) bool { return a.Explanation != nil && !a.Explanation.Placed() })
}

// Waits says that a gang of its pods waits, or that a pod of no gang has no node to go to.
func (o *Owned) Waits() bool {
	return slices.ContainsFunc(o.Waiting, func(a Alike) bool {
		if a.Gangs != nil {
			return a.Gangs.Waits()
		}
		return a.Explanation != nil && !a.Explanation.Placed()
	})
}

func (o *Owned) title() string { return strings.ToLower(o.Kind) + " " + o.Namespace + "/" + o.Name }

// Text implements [inspect.Answer].
func (o *Owned) Text(t *inspect.Table) {
	o.write(t, (*explanation.Pod).Text, (*explanation.Gangs).Text)
}

// Wide implements [inspect.WideAnswer].
func (o *Owned) Wide(t *inspect.Table) {
	o.write(t, (*explanation.Pod).Wide, (*explanation.Gangs).Wide)
}

// Everything is the same with every node.
func (o *Owned) Everything() inspect.Answer { return ownedWhole{o} }

type ownedWhole struct{ *Owned }

// Text implements [inspect.Answer].
func (o ownedWhole) Text(t *inspect.Table) {
	o.write(t, func(e *explanation.Pod, t *inspect.Table) { e.Everything().Text(t) }, (*explanation.Gangs).Text)
}

// Wide implements [inspect.WideAnswer].
func (o ownedWhole) Wide(t *inspect.Table) { o.Text(t) }

func (o *Owned) write(t *inspect.Table, pod func(*explanation.Pod, *inspect.Table), gangs func(*explanation.Gangs, *inspect.Table)) {
	if len(o.Waiting) == 0 {
		t.Row(inspect.Good("no pod of " + o.title() + " waits: all that there are have a node"))
		return
	}
	waiting := 0
	for i := range o.Waiting {
		waiting += len(o.Waiting[i].Pods)
	}
	said := fmt.Sprintf("%d pods of %s wait", waiting, o.title())
	if waiting == 1 {
		said = "1 pod of " + o.title() + " waits"
	}
	t.Row(inspect.Doubtful(said))
	for i := range o.Waiting {
		alike := &o.Waiting[i]
		t.Gap()
		t.Row(fmt.Sprintf("%s: %s", explanation.Names(alike.Pods), alike.Why))
		switch {
		case alike.Gangs != nil:
			t.Gap()
			gangs(alike.Gangs, t)
		case alike.Explanation != nil:
			t.Gap()
			pod(alike.Explanation, t)
		}
	}
}
