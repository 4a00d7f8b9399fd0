package page

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

func TestThePageIsForEveryDay(t *testing.T) {
	t.Parallel()
	chromium(t)
	s := serve(t, "devices")
	for name, test := range map[string]func(*testing.T, served){
		"the filter stands in the link":                 filtersByLink,
		"the filter is for keyboards and screens":       filtersByKeyboard,
		"gangs stand in the order of their plans":       ordersGangs,
		"a bar tells no place from nearly all":          tellsPlacesApart,
		"room in time is shown with what it costs":      showsRoomInTime,
		"pods stand under their owners, in a few lines": groupsByOwner,
		"a class is named by what there is":             namesClasses,
		"the last hour is drawn":                        drawsThePast,
		"who is away is not said to be ready":           isNotReadyWhileAway,
		"names are texts":                               takesNamesAsTexts,
		"times go on":                                   tellsTime,
		"nodes stand in their racks":                    groupsByRack,
		"a gang is found in its rack":                   findsAGang,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, s)
		})
	}
}

// twoTeams has pods, gangs and classes of two namespaces be told of.
func (b *browser) twoTeams() {
	b.Helper()
	b.pretends("debug/pending", `{ pods: [
		{ pod: 'ml/train-0', why: 'gang ml/train: no room' }, { pod: 'ml/train-1', why: 'gang ml/train: no room' },
		{ pod: 'shop/cart', why: 'kube-scheduler has found no node',
			owners: [{ kind: 'ReplicaSet', name: 'cart-1' }, { kind: 'Deployment', name: 'cart' }] },
	] }`)
	b.pretends("debug/gangs", `{ gangs: ['ml/train', 'shop/nightly'].map((gang) => ({
		gang, label: 'l', why: 'no room for ' + gang, minMember: 2, bound: 0, binding: 0, held: 0, placed: 0, pending: 2, lacking: 2, ready: 2,
	})) }`)
	b.pretends("debug/equivalence", `{ classes: ['ml/train-0', 'shop/cart'].map((firstPod, i) => ({
		class: 'hash-' + i, profile: 'p', firstPod, calls: 1, hits: 0, judged: 1, fitting: 1, bytes: 1, pods: [firstPod], present: [firstPod],
	})) }`)
	b.eventually("all is drawn", `document.querySelectorAll('#pending details').length === 2 &&
		document.querySelectorAll('#gangs li').length === 2 && document.querySelectorAll('#classes tbody tr').length === 2`)
}

// shown lists the namespaces of the lines in each of the lists that are filtered.
const shown = `['#pending details', '#gangs li', '#classes tbody tr'].map((list) =>
	[...document.querySelectorAll(list)].map((one) => one.textContent.match(/(ml|shop)/)[0]).join('+')).join(' ')`

func (b *browser) shows(what, want string) {
	b.Helper()
	b.eventually(what, fmt.Sprintf(`%s === %q`, shown, want))
}

func filtersByLink(t *testing.T, s served) {
	b := s.looks(t)
	b.twoTeams()
	first := eval[int](b, `history.length`)
	b.run(chromedp.Click(`#filter-text`), chromedp.SendKeys(`#filter-text`, "TRAIN ml"))
	b.shows("words are looked for in names and reasons", "ml ml ml") //nolint:dupword // one for each section
	if got := eval[string](b, `location.search`); got != "?text=TRAIN+ml" {
		t.Errorf("the link has %q", got)
	}
	if got := eval[int](b, `history.length`) - first; got != 1 {
		t.Errorf("what is typed in one go is %d steps back", got)
	}
	eval[bool](b, `(history.back(), true)`)
	b.shows("one step back, all are shown", "ml+shop ml+shop ml+shop") //nolint:dupword // the same
	if got := eval[string](b, `document.querySelector('#filter-text').value`); got != "" {
		t.Errorf("one step back, the filter has %q", got)
	}
	eval[bool](b, `((list) => { list.value = 'shop'; return list.dispatchEvent(new Event('input', { bubbles: true })); })
		(document.querySelector('#filter-namespace'))`)
	b.shows("a namespace", "shop shop shop") //nolint:dupword // the same
	b.eventually("how many are left", `
		document.querySelector('#matches').textContent === '1 of 3 pending pods, 1 of 2 gangs, 1 of 2 classes' &&
		document.querySelector('#state').textContent.endsWith('; 1 of 3 pods pending shown')`)
	b.click(`#gangs h3 a`)
	b.eventually("a link keeps the filter", `location.search === '?namespace=shop' && location.hash === '#gang=shop%2Fnightly'`)

	other := newBrowser(t)
	other.run(chromedp.Navigate("http://" + s.debug + "/?namespace=nowhere&text=%3Cb%3E#cluster"))
	other.eventually("a link is followed, also to a namespace in which nothing waits", `
		document.querySelector('#filter-namespace').value === 'nowhere' && document.querySelector('#filter-text').value === '<b>'`)
	other.click(`#filter [type=reset]`)
	other.eventually("and left", `location.search === '' && document.querySelector('#filter-namespace').value === '' &&
		location.hash === '#cluster' && document.activeElement.id === 'filter-text'`)
}

func filtersByKeyboard(t *testing.T, s served) {
	b := s.looks(t)
	b.twoTeams()
	b.run(chromedp.Focus(`#filter-text`))
	top := `document.querySelector('#pods').getBoundingClientRect().top`
	before := eval[float64](b, top)
	b.run(chromedp.KeyEvent("cart"))
	b.eventually("of the others nothing is left", `document.querySelector('#pending details').textContent.includes('Deployment shop/cart') &&
		document.querySelector('#gangs').textContent === 'None of them matches the filter.'`)
	if after := eval[float64](b, top); after != before {
		t.Errorf("the lists jump from %v to %v", before, after)
	}
	if got := eval[string](b, `document.activeElement.id`); got != "filter-text" {
		t.Errorf("who types loses the focus to %q", got)
	}
	eval[bool](b, `(window.list = document.querySelector('#filter-namespace'), window.option = list.options[1], true)`)
	b.pretends("debug/pending", `{ pods: [{ pod: 'ml/train-0', why: 'w' }, { pod: 'shop/cart', why: 'v' }] }`)
	b.eventually("it is drawn again", `document.querySelector('#pending').textContent.includes('shopv')`)
	if !eval[bool](b, `list.options[1] === option && document.querySelector('#filter-text').value === 'cart'`) {
		t.Error("the filter changes when the lists do")
	}
	b.run(chromedp.KeyEvent(kb.Enter))
	if got := eval[string](b, `location.pathname + location.search`); got != "/?text=cart" {
		t.Errorf("Enter leads to %s", got)
	}
}

func ordersGangs(t *testing.T, s served) {
	b := s.looks(t)
	b.pretends("debug/gangs", `{ gangs: [
		{ gang: 'z/first', why: 'w', minMember: 64, bound: 0, binding: 0, held: 0, placed: 0, pending: 60, lacking: 64, ready: 50, gated: 7,
			resting: 3, missing: 4, since: new Date(Date.now() - 47 * 60000).toISOString() },
		{ gang: 'm/started', minMember: 1, bound: 1, binding: 0, held: 0, placed: 0, pending: 0, lacking: 0, ready: 0, succeeded: 0, failed: 0 },
		{ gang: 'a/second', why: 'w', minMember: 2, bound: 0, binding: 0, held: 0, placed: 0, pending: 2, lacking: 2, ready: 2 },
	] }`)
	b.eventually("in their order, with their turn", `
		[...document.querySelectorAll('#gangs ol > li h3')].map((one) => one.textContent.split(' ').slice(0, 2).join(' ')).join() ===
		'1. z/first,2. a/second'`)
	b.eventually("how much is missing", `document.querySelector('#gangs .lacks').textContent ===
		'64 of 64 members have no place yet: 50 ready, 3 refused a moment ago, 7 held back by gates of others, 4 to be created'`)
	b.eventually("since when it waits, both ways", `/^waits for 47 min, since .*\d:\d\d:\d\d/.test(
		document.querySelector('#gangs li .counts:last-child').textContent) && !document.querySelector('#gangs li:last-child time')`)
	b.run(chromedp.SendKeys(`#filter-text`, "second"))
	b.eventually("the turn is that of all gangs", `document.querySelector('#gangs ol').textContent.startsWith('2. a/second')`)
}

func showsRoomInTime(t *testing.T, s served) {
	b := s.looks(t)
	gang := `{ gang: 'ml/train', label: 'l', why: 'w', minMember: 64, bound: 0, binding: 0, held: 0, placed: 0, pending: 64, lacking: 64,
		ready: 64, members: [] }`
	b.pretends("debug/gangs/ml/train", `{ gangs: [`+gang+`] }`)
	b.pretends("debug/gangs", `{ gangs: [`+gang+`] }`)
	b.eventually("no booking", `document.querySelector('#gangs ol') && !document.querySelector('#gangs .booked')`)
	room := `gang: 'ml/train', label: 'l', pods: 64, nodes: 8, from: new Date(Date.now() + 600000).toISOString()`
	b.pretends("debug/gangs", `{ gangs: [`+gang+`], booked: { `+room+`, idlePods: 40, idleShare: 0.124 } }`)
	b.eventually("for whom, from when, and what it costs", `((text) =>
		/^Room is booked for ml\/train: 64 pods on 8 nodes, from .*\d:\d\d:\d\d/.test(text) &&
		text.endsWith('. It keeps room for 40 of them idle now, 12 % of the cluster.'))(document.querySelector('#gangs .booked')?.textContent)`)
	b.pretends("debug/gangs", `{ gangs: [`+gang+`], booked: { `+room+`, idlePods: 0, idleShare: 0 } }`)
	b.eventually("that it costs nothing", `document.querySelector('#gangs .booked')?.textContent.endsWith('. It keeps nothing idle now.')`)
	b.click(`#gangs .booked a`)
	b.eventually("the gang is opened", `document.querySelector('#opened-gang h3')?.textContent.includes('ml/train') ||
		document.querySelector('#opened-gang').textContent.includes('64 must start together')`)
	b.pretends("debug/gangs", `{ gangs: [`+gang+`] }`)
	b.eventually("that it is over", `!document.querySelector('#gangs .booked')`)
}

func tellsPlacesApart(t *testing.T, s served) {
	b := s.looks(t)
	b.pretends("debug/gangs", `{ gangs: [0, 63].map((found) => ({
		gang: 'ml/found-' + found, why: 'w', minMember: 64, bound: 0, binding: 0, held: 0, placed: 0, pending: 64, lacking: 64, ready: 64, found,
	})) }`)
	b.eventually("bars of two gangs", `document.querySelectorAll('#gangs .stages').length === 2`)
	bars := eval[[]string](b, `[...document.querySelectorAll('#gangs .stages')].map((bar) =>
		[...bar.children].map((part) => part.dataset.stage + ' ' + Math.round(64 * part.offsetWidth / bar.offsetWidth)).join())`)
	if got := strings.Join(bars, "; "); got != "pending 64; found 63,pending 1" {
		t.Errorf("the bars are %s", got)
	}
	if !eval[bool](b, `getComputedStyle(document.querySelector('.stages [data-stage=found]')).background !==
		getComputedStyle(document.querySelector('.stages [data-stage=pending]')).background`) {
		t.Error("both look the same")
	}
	said := eval[[]string](b, `[...document.querySelectorAll('#gangs .stages + .counts')].map((one) => one.textContent)`)
	if got := strings.Join(said, "; "); got != "64 pending; 63 would have a place · 1 without one" {
		t.Errorf("it is said %q", got)
	}
	b.pretends("debug/gangs/ml/found-0", `{ gangs: [{
		gang: 'ml/found-0', label: 'l', why: 'w', minMember: 64, bound: 0, binding: 0, held: 0, placed: 0, pending: 64, lacking: 64, ready: 64,
		members: [], places: { wanted: 64, found: 62, short: 2, against: [{ reason: 'Insufficient cpu', nodes: 9 }] },
	}] }`)
	b.click(`#gangs h3 a`)
	b.eventually("of a gang that is opened, how many places there are now", `
		document.querySelector('#opened-gang caption')?.textContent === 'Now there are places for 62 of 64 that need one: 2 short.' &&
		document.querySelector('#opened-gang tbody').textContent === 'Insufficient cpu9' &&
		document.querySelector('#opened-gang [data-stage=found]') !== null`)
}

func groupsByOwner(t *testing.T, s served) {
	b := s.looks(t)
	b.pretends("debug/pending", `{ pods: [
		...Array.from({ length: 400 }, (_, i) => ({ pod: 'ml/llama-' + i, why: i < 399 ? 'gang ml/llama: no room' : 'held back by gate x',
			created: new Date(Date.now() - 3 * 3600000).toISOString(),
			owners: [{ kind: 'Job', name: 'llama-workers-' + i % 2 }, { kind: 'JobSet', name: 'llama' }] })),
		...Array.from({ length: 300 }, (_, i) => ({ pod: 'ml/lone-' + i, why: 'kube-scheduler has found no node' })),
		{ pod: 'ml/one', why: 'w', owners: [{ kind: 'Job', name: 'one' }] },
	] }`)
	b.eventually("a line for each owner", `document.querySelectorAll('#pending details').length === 3`)
	lines := eval[[]string](b, `[...document.querySelectorAll('#pending summary')].map((one) => one.textContent)`)
	want := []string{
		"400 pods of JobSet ml/llama, for 3 hgang ml/llama: no room (and 1 more reason)",
		"300 pods without an owner in mlkube-scheduler has found no node",
		"1 pod of Job ml/onew",
	}
	if got := strings.Join(lines, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("the lines are\n%s", got)
	}
	eval[bool](b, `(document.querySelectorAll('#pending details').forEach((one) => { one.open = true; }), true)`)
	links := eval[[]int](b, `[...document.querySelectorAll('#pending details')].map((one) => one.querySelectorAll('a').length)`)
	if got := fmt.Sprint(links); got != "[3 8 1]" {
		t.Errorf("there are %s links in the lines", got)
	}
	b.eventually("a Job of it is one line", `/^Job llama-workers-0: ml\/llama-0 and 199 alike waits for 3 h, since/.test(
		document.querySelector('#pending .owned li').textContent)`)
	b.eventually("the rest is counted", `document.querySelectorAll('#pending .owned')[1].lastChild.textContent ===
		'and 292 more: the filter finds them by their names'`)
}

func namesClasses(t *testing.T, s served) {
	b := s.looks(t)
	b.pretends("debug/equivalence", `{ classes: [
		{ firstPod: 'ml/gone-0', owner: { kind: 'Job', namespace: 'ml', name: 'train' },
			pods: ['ml/gone-0', 'ml/train-9'], present: ['ml/train-9'] },
		{ firstPod: 'ml/gone-1', pods: ['ml/gone-1', 'ml/there'], present: ['ml/there'] },
		{ firstPod: 'ml/gone-2', pods: ['ml/gone-2'], present: [] },
	].map((one, i) => ({ class: 'hash-' + i, profile: 'p', calls: 9 - i, hits: 0, judged: 1, fitting: 1, bytes: 1, ...one })) }`)
	b.eventually("classes", `document.querySelectorAll('#classes tbody tr').length === 3`)
	names := eval[[]string](b, `[...document.querySelectorAll('#classes tbody th')].map((one) => one.textContent)`)
	if got := strings.Join(names, "; "); got != "Job ml/trainp; ml/therep; pods that are gonep, all gone that were asked about" {
		t.Errorf("the classes are called %s", got)
	}
	b.pretends("debug/equivalence/hash-0", `{
		class: 'hash-0', firstPod: 'ml/gone-0', owner: { kind: 'Job', namespace: 'ml', name: 'train' }, profile: 'p', calls: 9,
		hits: 0, judged: 1, fitting: 1, bytes: 1, pods: ['ml/gone-0', 'ml/train-9'], present: ['ml/train-9'], nodes: [] }`)
	b.click(`#classes tbody a`)
	b.eventually("links lead to pods that there are", `
		[...document.querySelectorAll('#opened-class .told a')].map((one) => one.textContent).join() === 'ml/train-9,Every node' &&
		document.querySelector('#opened-class .counts').textContent.includes('1 that were asked about are gone')`)
}

func drawsThePast(t *testing.T, s served) {
	b := s.looks(t)
	b.pretends("debug/history", `{ minutes: [] }`)
	b.eventually("the first minute is not over", `document.querySelector('#past').textContent.startsWith('Nothing yet')`)
	b.pretends("debug/history", `{ minutes: Array.from({ length: 60 }, (_, i) => ({
		end: new Date(Date.now() - 60000 * (59 - i)).toISOString(), podsWaiting: i === 20 ? 40 : i % 5,
		gangsWaiting: 1, podsBound: 2, calls: 1000 * i, failedCalls: 0,
	})) }`)
	b.eventually("five charts", `document.querySelectorAll('#past figure').length === 5`)
	said := eval[string](b, `document.querySelector('#past figure').textContent + '|' + document.querySelector('#past svg').ariaLabel`)
	if !strings.HasPrefix(said, "4 pods waitingat most 40, at ") || !strings.Contains(said, ": 4 at the end, at most 40") {
		t.Errorf("the first one says %q", said)
	}
	last := eval[string](b, `document.querySelectorAll('#past figcaption')[4].textContent`)
	if !strings.HasPrefix(last, "0 failed calls a minutenone since ") {
		t.Errorf("the last one says %q", last)
	}
	if bars := eval[int](b, `document.querySelectorAll('#past path')[3].getAttribute('d').match(/M/g).length`); bars != 59 {
		t.Errorf("59 minutes with calls are %d bars", bars)
	}
	got := eval[string](b, `document.querySelector('#past path').getAttribute('d').match(/M82,40V2(?=M)/)?.[0] ?? 'none'`)
	if got != "M82,40V2" {
		t.Errorf("the highest bar is not where its minute is: %s", got)
	}
	b.click(`#past summary`)
	b.eventually("the same as a table", `document.querySelectorAll('#past tbody tr').length === 60 &&
		document.querySelector('#past tbody tr').textContent.endsWith('41259,0000')`)
}

func isNotReadyWhileAway(t *testing.T, s served) {
	b := s.looks(t)
	b.eventually(
		"it is ready",
		`document.querySelector('#process').checkVisibility() && document.querySelector('#process').textContent.startsWith('ready')`,
	)
	eval[bool](b, `(window.there = window.fetch, window.fetch = () => Promise.reject(new TypeError('Failed to fetch')), true)`)
	b.eventually(
		"it is away",
		`/^muster cannot be reached; what is shown is as of .*\d:\d\d/.test(document.querySelector('#state').textContent)`,
	)
	if said := eval[string](b, `document.querySelector('header').innerText`); strings.Contains(said, "ready") {
		t.Errorf("it is away, and the first line says %q", said)
	}
	eval[bool](b, `(window.fetch = window.there, true)`)
	for range 2 { // it asks again at once
		eval[bool](b, `(document.querySelector('#pause').click(), true)`)
	}
	b.eventually("it is back, and ready", `document.body.dataset.state === 'dump' && document.querySelector('#process').checkVisibility()`)
}

func takesNamesAsTexts(t *testing.T, s served) {
	b := s.looks(t)
	const evil = `<img src=x onerror=alert(1)>"'`
	b.pretends("debug/pending", `{ pods: [{ pod: 'evil/<img>', why: '<img>', owners: [{ kind: '<img>', name: '<img src=x>' }] }] }`)
	b.pretends(
		"debug/gangs",
		`{ gangs: [{ gang: 'evil/<img>', why: `+"`"+evil+"`"+`, note: '<img>', minMember: 1, bound: 0, binding: 0, held: 0, placed: 0,
		pending: 1, lacking: 1, ready: 1, since: '<img>' }] }`,
	)
	b.pretends("debug/equivalence", `{ classes: [{ class: '<img>', profile: '<img>', firstPod: '<img>/x',
		owner: { kind: '<img>', namespace: 'n', name: '<img>' },
		calls: 1, hits: 0, judged: 1, fitting: 1, bytes: 1, pods: [], present: [] }] }`)
	b.pretends("debug/history", `{ minutes: [{
		end: '<img>', podsWaiting: '<img>', gangsWaiting: 1, podsBound: 2, calls: 3, failedCalls: 4,
	}] }`)
	b.eventually("all is drawn", `document.querySelector('#pending').textContent.includes('<img src=x>') &&
		document.querySelector('#gangs').textContent.includes('onerror') && document.querySelector('#classes').textContent.includes('<img>') &&
		document.querySelector('#filter-namespace').options.length === 3`)
	b.run(chromedp.SendKeys(`#filter-text`, "<img src=x"))
	b.eventually("it is looked for as a text", `document.querySelector('#matches').textContent.startsWith('1 of 1 pending pod, 1 of 1 gang')`)
	if got := eval[int](b, `document.querySelectorAll('img, main script, [onerror]').length`); got != 0 {
		t.Errorf("names have made %d elements", got)
	}
}

func tellsTime(t *testing.T, s served) {
	b := s.looks(t)
	b.pretends("debug/pending", `{ pods: [{ pod: 'a/a', why: 'w', created: new Date(Date.now() - 90000).toISOString() }] }`)
	b.eventually("a minute", `document.querySelector('#pending time')?.textContent === '1 min'`)
	eval[bool](b, `(window.line = document.querySelector('#pending time'), window.now = Date.now, Date.now = () => now() + 5 * 60000, true)`)
	b.eventually("it goes on, though muster has nothing new to tell", `document.querySelector('#pending time').textContent === '6 min'`)
	if !eval[bool](b, `line.isConnected`) {
		t.Error("the line is another one")
	}
}
