package page

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// inRacks has muster tell of eight nodes, most of them in racks of two blocks, with the levels that networks have, and waits until
// they are drawn.
func (b *browser) inRacks(generation int, networks string) {
	b.Helper()
	b.pretends("debug/nodes", fmt.Sprintf(`{ generation: %[1]d, networks: %[2]s, nodes: [
		['n1', 'x', 'r1'], ['n2', 'x', 'r1'], ['n3', 'x', 'r10'], ['n4', 'x', 'r2'], ['n5', 'y', 'r1'], ['n6', 'y', 'r1'], ['n7', 'y'], ['n8'],
	].map(([node, block, rack], i) => ({
		node, labels: { block, rack }, allocatable: { cpu: 4 }, requested: { cpu: (i + %[1]d) %% 4, pods: i },
	})) }`, generation, networks))
	b.eventually("the nodes are drawn", fmt.Sprintf(`document.querySelector('#updated').textContent.startsWith('generation %d,')`, generation))
}

const (
	levels = `[[['block'], ['block', 'rack']], [['rack']]]`
	named  = `[...document.querySelectorAll('#heat [role=group]')].map((one) => one.ariaLabel).join(' ')`
)

func (b *browser) isGrouped(what, control, groups string) {
	b.Helper()
	if got := eval[string](b, `document.querySelector('.controls [name=group]').value + ': ' + `+named); got != control+": "+groups {
		b.Errorf("%s: nodes are grouped by %q, want %q", what, got, control+": "+groups)
	}
}

func groupsByRack(t *testing.T, s served) {
	b := s.looks(t)
	const inRacks = "x/r1 x/r2 x/r10 y/r1 y/without without/without"
	b.inRacks(1, `[]`)
	b.isGrouped("no gang asks for racks", "", "")
	b.inRacks(2, levels)
	b.isGrouped("the lowest level, if nobody chose", "level:block,rack", inRacks)
	got := eval[string](b, `[...document.querySelectorAll('#heat .frame > p, #heat .blocks p')].map((one) => one.textContent).join(' | ')`)
	const frames = "x: 4 nodes, 38 % | r163 % | r225 % | r100 % | y: 3 nodes, 42 % | r163 % | without0 % | without: 1 node, 25 % | without25 %"
	if got != frames {
		t.Errorf("blocks and frames are %q, want %q", got, frames)
	}
	offered := eval[string](b, `[...document.querySelectorAll('.controls optgroup option')].map((one) => one.textContent).join(' | ')`)
	if want := "block | rack in block | rack"; offered != want {
		t.Errorf("offered are %q, want %q", offered, want)
	}

	b.run(chromedp.Focus(`#heat li[tabindex="0"]`))
	for _, step := range []struct{ key, to string }{
		{kb.ArrowDown, "n5"},
		{kb.ArrowUp, "n1"},
		{kb.ArrowRight, "n2"},
		{kb.ArrowRight, "n4"},
		{kb.ArrowRight, "n3"},
		{kb.ArrowDown, "n7"},
		{kb.End, "n8"},
		{kb.ArrowUp, "n5"},
		{kb.ArrowRight, "n6"},
	} {
		b.run(chromedp.KeyEvent(step.key))
		if at := eval[string](b, `document.activeElement.querySelector('b')?.textContent`); at != step.to {
			t.Errorf("%q leads to %s, want %s", step.key, at, step.to)
		}
	}
	eval[bool](b, `(window.moved = 0, new MutationObserver((all) => window.moved += all.filter(({ target }) =>
		target.matches('#heat, #heat div, #heat ul')).length)
			.observe(document.querySelector('#heat'), { childList: true, subtree: true }), true)`)
	b.inRacks(3, levels)
	if moved := eval[int](b, `window.moved`); moved != 0 {
		t.Errorf("blocks or cells are moved %d times", moved)
	}
	if at := eval[string](b, `document.activeElement.querySelector('b')?.textContent`); at != "n6" {
		t.Errorf("the focus is at %s, want n6", at)
	}

	b.inRacks(4, `[[['block']]]`)
	b.isGrouped("the level is gone, and another one is the lowest", "level:block", "x y without")
	b.inRacks(5, `[]`)
	b.isGrouped("no level is left", "", "")
	b.inRacks(6, levels)
	b.choose("group", "level:rack")
	b.isGrouped("racks of one name are one by their names alone", "level:rack", "r1 r2 r10 without")
	b.choose("group", "")
	b.inRacks(7, levels)
	b.isGrouped("who chose no groups sees none", "", "")
}

func findsAGang(t *testing.T, s served) {
	b := s.looks(t)
	members := func(nodes string) {
		b.pretends("debug/gangs/ml/llama", `{ gangs: [{
			gang: 'ml/llama', label: 'l', minMember: 4, bound: 3, binding: 0, held: 0, placed: 0, pending: 1,
			members: [`+nodes+`].map((node, i) => ({ pod: 'p' + i, stage: node ? 'bound' : 'pending', node, ageSeconds: 1 })) }] }`)
	}
	finds := func(what, cells, text string) {
		b.eventually(what, fmt.Sprintf(`[...document.querySelectorAll('#heat li.member b')].map((one) => one.textContent).join() === %q &&
			(document.querySelector('#heat-gang').hidden ? '' : document.querySelector('#heat-gang').textContent) === %q`, cells, text))
	}
	b.inRacks(1, levels)
	members(`'n5', 'n5', 'n6', undefined`)
	eval[bool](b, `(location.hash = '#gang=ml%2Fllama', true)`)
	finds("a gang in one rack", "n5,n6", "3 members of gang ml/llama on 2 nodes, in 1 of 6 domains by rack: y/r1")
	if got := eval[string](b, `[...document.querySelectorAll('#heat .has')].map((one) => one.ariaLabel).join()`); got != "y/r1" {
		t.Errorf("the blocks of the gang are %q", got)
	}
	b.run(chromedp.Click(`#cluster h2`), chromedp.Focus(`#heat [aria-label="y/r1"] li`))
	b.eventually("it is said in words", `document.activeElement.ariaDescription.endsWith(', 2 members of gang ml/llama')`)
	b.isAccessible("dark")
	b.isAccessible("light")
	b.choose("group", "")
	finds("without racks", "n5,n6", "3 members of gang ml/llama on 2 nodes")
	b.choose("group", "level:block,rack")
	members(`'n8', 'n4', 'n1', 'n3', 'n5'`)
	b.inRacks(2, levels)
	finds("it keeps up with the cluster", "n1,n4,n3,n5,n8", "5 members of gang ml/llama on 5 nodes, in 5 of 6 domains by rack")
	members(`undefined`)
	b.inRacks(3, levels)
	finds("nobody has a node", "", "No member of gang ml/llama has a node.")
	members(`'n1'`)
	b.inRacks(4, levels)
	finds("one has", "n1", "1 member of gang ml/llama on 1 node, in 1 of 6 domains by rack: x/r1")
	eval[bool](b, `(window.once = count('debug/gangs/ml/llama')) > 0`)
	b.inRacks(5, levels)
	b.eventually("it is asked about again", `count('debug/gangs/ml/llama') > once &&
		asked.findLast(({ path }) => path === 'debug/gangs/ml/llama').etag !== ''`)
	eval[bool](b, `(window.rounds = count('debug/nodes')) > 0`)
	b.eventually("rounds go by", `count('debug/nodes') > rounds + 1`)
	finds("it has not changed", "n1", "1 member of gang ml/llama on 1 node, in 1 of 6 domains by rack: x/r1")
	b.click(`#opened-gang .opener a`)
	finds("it is closed", "", "")
}
