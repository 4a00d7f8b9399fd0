package page

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// looks opens the page in a tab of its own, at whose muster it can pretend.
func (s served) looks(t *testing.T) *browser {
	t.Helper()
	b := newBrowser(t)
	b.theme("light") // and nothing moves
	b.run(chromedp.Navigate("http://" + s.debug + "/"))
	b.eventually("it is live", `document.querySelector('#state').textContent.startsWith('live') ||
		document.body.dataset.state === 'dump'`)
	eval[bool](b, b.script("pretend"))
	return b
}

// pretends has an endpoint answer with a value of JavaScript.
func (b *browser) pretends(path, body string) {
	b.Helper()
	eval[bool](b, fmt.Sprintf(`(fake[%q] = { body: %s }, true)`, path, body))
}

func TestThePageIsDrawnAgain(t *testing.T) {
	t.Parallel()
	chromium(t)              // before all that takes long: it may skip
	s := serve(t, "devices") // two nodes that offer devices and more, and one pod requests some
	for name, test := range map[string]func(*testing.T, served){
		"what fails to be drawn is not taken for a lost connection": failsToDraw,
		"a row keeps focus, selection and what is open":             keepsRows,
		"what is open keeps up with the cluster":                    keepsUp,
		"a reordered map moves no cell":                             movesNoCell,
		"one short line is read aloud":                              isReadAloud,
		"the summary has the resources that matter":                 sumsUp,
		"figures of a node are shown once":                          showsFiguresOnce,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, s)
		})
	}
}

func failsToDraw(t *testing.T, s served) {
	b := s.looks(t)
	b.pretends("debug/gangs", `{ gangs: [null] }`)
	b.pretends("debug/pending", `{ pods: [{ pod: 'default/a', why: 'nobody knows' }] }`)
	b.eventually("it says what it failed to draw, and why", `
		/^this page failed to draw gangs.*: TypeError: /.test(document.querySelector('#state').textContent) &&
		document.querySelector('#gangs.old') !== null`)
	b.eventually("the others are drawn", `document.querySelector('#pending').textContent.includes('nobody knows')`)
	b.eventually("it tries again, as though it had no answer", `
		asked.filter(({ path, etag }) => path === 'debug/gangs' && etag === '').length > 1`)
	b.pretends("debug/gangs", `{ gangs: [] }`)
	b.eventually("it recovers", `document.body.dataset.state === 'dump' && document.querySelector('.old') === null &&
		document.querySelector('#state').textContent.endsWith('; 1 pod pending')`)
	b.eventually("what is drawn is not sent again", `asked.findLast(({ path }) => path === 'debug/gangs').etag === '{"gangs":[]}'`)
	eval[bool](b, `(window.fetch = () => Promise.reject(new TypeError('Failed to fetch')), true)`)
	b.eventually("a lost connection is one", `document.querySelector('#state').textContent.startsWith('muster cannot be reached')`)
}

// lists are the answers of each list, with rows that change places, and the link in the row that has the focus.
var lists = []struct{ path, body, link string }{
	{
		"debug/pending", `{ pods: round ? [{ pod: 'default/new', why: 'w' }, { pod: 'default/b', why: 'v' }, { pod: 'default/a', why: 'v' }]
			: [{ pod: 'default/a', why: 'v' }] }`, `#pending a[href="#pod=default%2Fa"]`,
	},
	{
		"debug/gangs", `{ gangs: (round ? ['c', 'b', 'a'] : ['a', 'b']).map((name) => ({
			gang: 'default/' + name, why: 'round ' + round, minMember: 5, bound: 0, binding: 0, held: round, placed: 0, pending: 1,
		})) }`, `#gangs a[href="#gang=default%2Fa"]`,
	},
	{
		"debug/equivalence", `{ classes: [1, 2, 3].map((i) => ({
			class: 'hash-' + i, profile: 'p', firstPod: 'default/same', calls: round ? i : 9 - i, hits: round, judged: 1, fitting: 1, bytes: 1,
			present: ['default/same'],
		})) }`, `#classes a[href="#class=hash-1"]`,
	},
	{
		"debug/plans", `{ plans: (round ? ['c', 'b', 'a'] : ['a', 'b']).map((plan, i) => ({
			plan, phase: 'Pending', mode: 'DryRun', policy: 'MakeRoom', created: String(9 - i), message: 'round ' + round, steps: [
				{ pod: 'default/p', from: 'worker-1', to: 'worker-2', phase: 'Waiting' },
			],
		})) }`, `#plans a[href="#plan=a"]`,
	},
}

func keepsRows(t *testing.T, s served) {
	b := s.looks(t)
	for _, list := range lists {
		answer := func(round int) {
			b.pretends(list.path, fmt.Sprintf(`((round) => (%s))(%d)`, list.body, round))
		}
		answer(0)
		b.eventually(list.path+" is drawn", fmt.Sprintf(`document.querySelector('%s') !== null`, list.link))
		eval[bool](b, fmt.Sprintf(`((link) => {
			for (const details of document.querySelectorAll('#pending details')) details.open = true;
			Object.assign(window, { link, panel: link.closest('[id]') });
			link.focus();
			getSelection().selectAllChildren(link);
			return document.activeElement === link;
		})(document.querySelector('%s'))`, list.link))
		for _, turn := range []struct {
			round  int
			beside string
		}{{1, "next"}, {0, "previous"}} {
			eval[bool](b, `(window.before = window.panel.textContent) !== ''`)
			answer(turn.round)
			b.eventually(list.path+" is drawn again", `window.panel.textContent !== window.before`)
			for what, holds := range map[string]string{
				"the row stays":           `window.link.isConnected`,
				"it has the focus":        `document.activeElement === window.link`,
				"its text is selected":    `getSelection().toString() === window.link.textContent`,
				"what is open stays open": `document.querySelector('#pending details').open`,
				"it changes places":       `window.link.closest('[data-key]').` + turn.beside + `ElementSibling === null`,
			} {
				if !eval[bool](b, holds) {
					t.Errorf("%s: not so: %s; the panel says:\n%s", list.path, what, eval[string](b, `window.panel.innerText`))
				}
			}
		}
	}
}

func keepsUp(t *testing.T, s served) {
	const path = "debug/nodes/worker-1"
	b := s.looks(t)
	b.run(chromedp.Click(`#heat li`))
	b.eventually("a node is open", `document.querySelector('#opened-node tbody')?.textContent.includes('default/train')`)
	eval[bool](b, `(window.button = document.querySelector('#opened-node button'), button.focus(), window.once = count('`+path+`'), true)`)
	b.eventually("rounds go by", `((rounds) => count('debug/nodes') > (window.rounds ??= rounds) + 1)(count('debug/nodes'))`)
	if got := eval[int](b, `count('`+path+`')`); got != eval[int](b, `window.once`) {
		t.Errorf("it is asked about %d times though nothing has changed", got)
	}

	b.pretends("debug/equivalence", `{ classes: [
		{ class: 'c', profile: 'p', firstPod: 'default/p', calls: 1, hits: 0, judged: 1, fitting: 1, bytes: 1, present: [] },
	] }`)
	b.eventually("a class is remembered", `document.querySelector('#classes td') !== null`)
	if got := eval[int](b, `count('`+path+`')`); got != eval[int](b, `window.once`) {
		t.Error("it is asked about though what has changed is not of the cluster")
	}

	// changes has the cluster be another one, as far as the page knows.
	round := 0
	changes := func() {
		round++
		b.pretends("debug/pending", fmt.Sprintf(`{ pods: [{ pod: 'default/p', why: 'round %d' }] }`, round))
		b.eventually("the page sees it", fmt.Sprintf(`document.querySelector('#pending').textContent.includes('round %d')`, round))
	}
	b.pretends(path, `{ node: 'worker-1', taints: ['new=taint'], pods: [], allocatable: { cpu: 1 }, requested: {} }`)
	changes()
	b.eventually("what is open is drawn again", `document.querySelector('#opened-node .told').textContent.includes('new=taint')`)
	if !eval[bool](b, `document.activeElement === window.button`) {
		t.Error("what is open loses the focus when it is drawn again")
	}

	eval[bool](b, `(fake['`+path+`'] = null, true)`)
	for range 3 {
		changes()
	}
	b.eventually("an answer is awaited", `window.waiting.length > 0`)
	if most := eval[int](b, `window.most`); most != 1 {
		t.Errorf("%d requests are in flight at a time", most)
	}
	eval[bool](b, `(fake['`+path+`'] = { body: { node: 'worker-1', taints: ['newer=taint'], pods: [], allocatable: {}, requested: {} } },
		window.release(), true)`)
	b.eventually("then what has changed meanwhile is there", `
		document.querySelector('#opened-node .told').textContent.includes('newer=taint')`)

	// A round that is under way ends. A page that went on would ask twice while the timer runs.
	eval[bool](b, `(Object.defineProperty(document, 'hidden', { configurable: true, get: () => true }),
		document.dispatchEvent(new Event('visibilitychange')), fake['debug/pending'] = { body: { pods: [] } },
		window.rest = (before) => setTimeout(() => asked.length === before ? window.rested = true : rest(asked.length), 5000),
		rest(asked.length), true)`)
	b.eventually("a hidden page asks no more", `window.rested === true`)
	eval[bool](b, `(delete document.hidden, document.dispatchEvent(new Event('visibilitychange')), true)`)

	eval[bool](b, `(fake['`+path+`'] = { status: 404, body: { error: 'there is no node' } }, true)`)
	changes()
	b.eventually("it says that it is gone, and shows what it was", `
		document.querySelector('#opened-node .bad')?.textContent === 'It is gone: there is no node' &&
		document.querySelector('#opened-node .told').textContent.includes('newer=taint')`)
	b.pretends(path, `{ node: 'worker-1' }`)
	changes()
	b.eventually("it says that it cannot draw it", `
		/^This page failed to draw it: TypeError/.test(document.querySelector('#opened-node .bad')?.textContent)`)
}

func movesNoCell(t *testing.T, s served) {
	b := s.looks(t)
	answer := func(round int) {
		b.pretends("debug/nodes", fmt.Sprintf(`{ generation: %[1]d, nodes: Array.from({ length: 30 }, (_, i) => ({
			node: 'node-' + i, allocatable: { cpu: 30 }, requested: { cpu: (i * 7 + %[1]d * 11) %% 30 },
		})) }`, round))
		b.eventually("the nodes are drawn", fmt.Sprintf(`document.querySelector('#updated').textContent.startsWith('generation %d,')`, round))
	}
	answer(1)
	b.run(chromedp.Click(`//label[contains(., 'fullest first')]`), chromedp.Focus(`#heat li:nth-child(4)`))
	eval[bool](b, `(window.at = document.activeElement.querySelector('b').textContent, window.moved = 0,
		new MutationObserver((all) => window.moved += all.filter(({ target }) => target.matches('#heat, #heat div, #heat ul')).length)
			.observe(document.querySelector('#heat'), { childList: true, subtree: true }), true)`)
	answer(2)
	shares := eval[string](b, `[...document.querySelectorAll('#heat span')].map((cell) => parseInt(cell.textContent)).join()`)
	if !strings.HasPrefix(shares, "97,93,90,87,83,80,") {
		t.Errorf("the order is %s", shares)
	}
	if moved := eval[int](b, `window.moved`); moved != 0 {
		t.Errorf("cells are moved %d times", moved)
	}
	if at, now := eval[string](b, `window.at`), eval[string](b, `document.activeElement.querySelector('b')?.textContent`); at != now {
		t.Errorf("the focus was at %s and is at %s", at, now)
	}
	if at := eval[string](b, `document.querySelector('#node h3 a').textContent`); at != eval[string](b, `window.at`) {
		t.Errorf("the figures are of %s", at)
	}
	for generation, nodes := range []string{`[]`, `[{ node: 'one', allocatable: { cpu: 1 }, requested: {} }]`, `[]`} {
		b.pretends("debug/nodes", fmt.Sprintf(`{ generation: %d, nodes: %s }`, 100+generation, nodes))
		b.eventually("few nodes or none are drawn", fmt.Sprintf(`
			document.querySelector('#updated').textContent.startsWith('generation %d,') && document.body.dataset.state === 'dump'`, 100+generation))
	}
	b.pretends("debug/nodes", `{ generation: 200, nodes: [] }`)
	b.eventually("no nodes, again", `
		document.querySelector('#updated').textContent.startsWith('generation 200,') && document.body.dataset.state === 'dump'`)
}

func isReadAloud(t *testing.T, s served) {
	b := s.looks(t)
	b.run(chromedp.SetValue(`#find-pod`, "default/train"), chromedp.Click(`#find button`))
	b.eventually("who asked about a pod is led to the answer", `
		document.activeElement === document.querySelector('#opened-pod h3') && document.activeElement.textContent === 'pod default/train'`)
	aloud := eval[[]string](b, `
		[...document.querySelectorAll('[role=status], [role=alert], [role=log], [aria-live], output')].map((e) => e.id)`)
	if got := strings.Join(aloud, " "); got != "state" {
		t.Errorf("read aloud are %q, want the state alone", got)
	}
	b.pretends("debug/pending", `{ pods: [{ pod: 'default/a', why: 'w' }, { pod: 'default/b', why: 'w' }] }`)
	b.eventually("the state has the count of pending pods", `document.querySelector('#state').textContent.endsWith('; 2 pods pending')`)
	b.run(chromedp.Focus(`#heat li`), chromedp.Click(`#heat li`))
	b.eventually("a node is open", `document.querySelector('#opened-node h3')?.textContent === 'node worker-1'`)
	if !eval[bool](b, `document.activeElement === document.querySelector('#heat li')`) {
		t.Error("who opens a node is led away from the map")
	}
}

func sumsUp(t *testing.T, s served) {
	b := s.looks(t)
	shown := func(within string) string {
		return eval[string](b, `[...document.querySelectorAll('`+within+` > div')].map((one) =>
			one.querySelector('dt').textContent.replace(' requested', '') + '=' + one.querySelector('dd').textContent)
			.filter((one) => /[/-]/.test(one.split('=')[0])).join(' ')`)
	}
	const first = "nvidia.com/gpu=50 % nvidia.com/mig-1g.5gb=0 % example.com/nic=25 % example.com/fuse=0 %"
	if got := shown("#summary > dl"); got != first {
		t.Errorf("resources at once: %s, want %s", got, first)
	}
	b.run(chromedp.Click(`#summary summary`))
	const more = "attachable-volumes-csi=0 % hugepages-2Mi=100 %"
	if got := shown("#summary details[open] dl"); got != more {
		t.Errorf("more resources: %s, want %s", got, more)
	}
	if got := eval[string](b, `document.querySelector('#summary summary').textContent`); got != "and 2 more resources" {
		t.Errorf("the rest is called %q", got)
	}
	b.pretends("debug/pending", `{ pods: [{ pod: 'default/a', why: 'w' }] }`)
	b.eventually("the summary is drawn again", `document.querySelector('#summary').innerText.includes('pods pending\n1')`)
	if !eval[bool](b, `document.querySelector('#summary details').open`) {
		t.Error("the rest is closed when the summary is drawn again")
	}
}

func showsFiguresOnce(t *testing.T, s served) {
	b := s.looks(t)
	times := func() int {
		return eval[int](b, `[...document.querySelectorAll('#cluster dt')].filter((one) => one.textContent === 'CPU requested').length`)
	}
	b.run(chromedp.Click(`#cluster h2`), chromedp.Focus(`#heat li`))
	b.eventually("the figures of a node", `document.querySelector('#node dl') !== null`)
	b.run(chromedp.Click(`#heat li`))
	b.eventually("it is open", `document.querySelector('#opened-node dl') !== null`)
	if got := times(); got != 1 {
		t.Errorf("the figures of a node that is open are shown %d times", got)
	}
	b.run(chromedp.Focus(`#heat li:last-child`))
	b.eventually("the figures of another one as well", `/^worker-2[^]*CPU requested/.test(document.querySelector('#node').textContent)`)
	b.run(chromedp.Focus(`#heat li`), chromedp.Click(`#opened-node .opener a`))
	b.eventually("it is closed, and its figures are where one points", `document.querySelector('#opened-node dl') === null`)
	if got := times(); got != 1 {
		t.Errorf("the figures of a node that is closed are shown %d times", got)
	}
}
