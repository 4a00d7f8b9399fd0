package membership_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"muster.dev/muster/api/seeded"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/membership"
)

// above reads a path as in "root:2/left:1".
func above(path string) (groups []cluster.GroupOfGroups) {
	for step := range strings.SplitSeq(path, "/") {
		name, least, _ := strings.Cut(step, ":")
		groups = append(groups, cluster.GroupOfGroups{Name: name, AtLeast: int32(least[0] - '0')})
	}
	return groups
}

func leafKey(name string) membership.Key {
	return membership.Key{Label: "Group", NamespacedName: types.NamespacedName{Namespace: "team", Name: name}}
}

// chosen returns all choices for a gang as words, or what hinders it.
func chosen(of string, leaves []membership.Leaf) (sets []string) {
	choices, not := membership.Choices(leafKey(of), leaves)
	if not != nil {
		return []string{not.Why}
	}
	for keys := range choices {
		var names []string
		for _, key := range keys {
			names = append(names, key.Name)
		}
		sets = append(sets, strings.Join(names, " "))
	}
	return sets
}

func TestGangsOfATreeAreChosen(t *testing.T) {
	const started, holding, whole, missing = membership.Started, membership.Holding, membership.Whole, membership.Incomplete
	type leaves map[string]membership.Standing // by path and name
	for name, test := range map[string]struct {
		leaves leaves
		of     string
		want   []string
	}{
		"all of them":                            {leaves{"r:2/a": whole, "r:2/b": whole}, "b", []string{"b a"}},
		"one and either other":                   {leaves{"r:2/a": whole, "r:2/b": whole, "r:2/c": whole}, "b", []string{"b a", "b c"}},
		"an incomplete one last":                 {leaves{"r:2/a": missing, "r:2/b": whole, "r:2/c": whole}, "b", []string{"b c"}},
		"none other is whole":                    {leaves{"r:2/a": missing, "r:2/b": whole, "r:2/c": missing}, "b", []string{"b a"}},
		"one that has started is in each choice": {leaves{"r:2/a": whole, "r:2/b": whole, "r:2/c": started}, "b", []string{"b c"}},
		"one that holds places is in each choice": {
			leaves{"r:2/a": whole, "r:2/b": whole, "r:2/c": holding}, "b", []string{"b c"},
		},
		"enough others hold places": {
			leaves{"r:2/a": holding, "r:2/b": whole, "r:2/c": holding}, "b", []string{"2 of the groups of r start before it"},
		},
		"enough others have started": {leaves{"r:2/a": started, "r:2/b": whole, "r:2/c": started}, "b", []string{"b"}},
		"it has started itself":      {leaves{"r:2/a": started, "r:2/b": whole, "r:2/c": started}, "a", []string{"a"}},
		"too few have started":       {leaves{"r:2/a": started, "r:2/b": whole, "r:2/c": whole}, "a", []string{"a"}},
		"too few are there": {leaves{"r:3/a": whole, "r:3/b": whole}, "b", []string{
			"waiting for members of 1 more of the groups of r to be created",
		}},
		"too few of a group of groups": {leaves{"r:2/a": whole, "r:2/s:2/b": whole}, "a", []string{
			"waiting for members of 1 more of the groups of s to be created",
		}},
		"another will do": {leaves{"r:2/a": whole, "r:2/s:2/b": whole, "r:2/c": whole}, "a", []string{"a c"}},
		"each group of groups has its own number": {
			leaves{"r:2/s:1/a": whole, "r:2/s:1/b": whole, "r:2/u:1/c": whole, "r:2/u:1/d": whole}, "b", []string{"b c", "b d"},
		},
		"one of a group of groups that the root can do without": {
			leaves{"r:1/s:2/a": whole, "r:1/s:2/b": whole, "r:1/c": whole}, "a", []string{"a b"},
		},
		"below a root that has started": {
			leaves{"r:1/s:2/a": whole, "r:1/s:2/b": whole, "r:1/c": started}, "a", []string{"a b"},
		},
		"a started one of a group of groups that has not": {
			leaves{"r:1/s:2/a": started, "r:1/s:2/b": whole, "r:1/c": whole}, "b", []string{"b a"},
		},
		"four levels": {
			leaves{"r:2/s:1/u:1/a": whole, "r:2/s:1/u:1/b": whole, "r:2/c": whole}, "c", []string{"c a", "c b"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var all []membership.Leaf
			for _, path := range slices.Sorted(maps.Keys(test.leaves)) {
				i := strings.LastIndex(path, "/")
				all = append(all, membership.Leaf{Key: leafKey(path[i+1:]), Above: above(path[:i]), Standing: test.leaves[path]})
			}
			if got := chosen(test.of, all); !slices.Equal(got, test.want) {
				t.Errorf("chosen with %s are %q, want %q", test.of, got, test.want)
			}
		})
	}
}

func TestATreeHasABoundedNumberOfGangs(t *testing.T) {
	var leaves []membership.Leaf
	for i := range membership.MostLeaves + 1 {
		leaves = append(leaves, membership.Leaf{Key: leafKey(fmt.Sprint(i)), Above: above("r:1"), Standing: membership.Whole})
	}
	if got := chosen("0", leaves); !slices.Equal(got, []string{"its tree has 257 groups of pods, and 256 may be in one"}) {
		t.Errorf("chosen are %q", got)
	}
	if got := chosen("1", leaves[1:]); len(got) != 1 {
		t.Errorf("one of as many as may be in a tree has the choices %q, want itself", got)
	}
}

// TestEveryWayToStartATreeIsAChoice holds the choices against all sets of gangs.
func TestEveryWayToStartATreeIsAChoice(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		root := drawTree(t, "r", 0)
		var leaves []membership.Leaf
		root.leaves(nil, &leaves)
		if len(leaves) > 10 {
			t.Skip("too many")
		}
		of := leaves[rapid.IntRange(0, len(leaves)-1).Draw(t, "of")].Key
		want := map[string]bool{}
		for set := range 1 << len(leaves) {
			in := map[string]bool{}
			for i, leaf := range leaves {
				if set>>i&1 == 1 {
					in[leaf.Key.Name] = true
				}
			}
			if in[of.Name] && root.startsWith(in) {
				want[fmt.Sprint(in)] = true
			}
		}
		choices, not := membership.Choices(of, leaves)
		if not != nil {
			if len(want) > 0 {
				t.Fatalf("it does not start (%s), and could with any of %v", not.Why, want)
			}
			return
		}
		got := map[string]bool{}
		for keys := range choices {
			in := map[string]bool{}
			for _, key := range keys {
				in[key.Name] = true
			}
			if keys[0] != of || got[fmt.Sprint(in)] || len(in) < len(keys) {
				t.Fatalf("%v is chosen for %s, after %v", keys, of.Name, got)
			}
			got[fmt.Sprint(in)] = true
		}
		if !maps.Equal(got, want) {
			t.Fatalf("chosen are %v, want %v", got, want)
		}
	})
}

// tree is a group of groups, or a gang.
type tree struct {
	name  string
	least int
	below []*tree
}

func drawTree(t *rapid.T, name string, depth int) *tree {
	n := &tree{name: name}
	if depth == 3 || depth > 0 && rapid.Bool().Draw(t, "gang") {
		return n
	}
	for i := range rapid.IntRange(1, 3).Draw(t, "below") {
		n.below = append(n.below, drawTree(t, fmt.Sprint(name, i), depth+1))
	}
	n.least = rapid.IntRange(1, len(n.below)).Draw(t, "least")
	return n
}

func (n *tree) leaves(above []cluster.GroupOfGroups, all *[]membership.Leaf) {
	if len(n.below) == 0 {
		*all = append(*all, membership.Leaf{Key: leafKey(n.name), Above: above, Standing: membership.Whole})
		return
	}
	above = append(slices.Clone(above), cluster.GroupOfGroups{Name: n.name, AtLeast: int32(n.least)})
	for _, other := range n.below {
		other.leaves(above, all)
	}
}

// startsWith reports whether a set has exactly as many below each branch that it uses as that needs.
func (n *tree) startsWith(in map[string]bool) bool {
	if len(n.below) == 0 {
		return in[n.name]
	}
	used := 0
	for _, other := range n.below {
		switch {
		case other.startsWith(in):
			used++
		case other.uses(in):
			return false
		}
	}
	return used == n.least
}

func (n *tree) uses(in map[string]bool) bool {
	return in[n.name] || slices.ContainsFunc(n.below, func(other *tree) bool { return other.uses(in) })
}
