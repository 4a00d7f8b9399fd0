package page

import (
	"fmt"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// opensWhatThereIs follows the links to a gang, its member, a class, a plan and a node, each at a URL of its own.
func (b *browser) opensWhatThereIs() {
	b.Helper()
	b.click(`#gangs h3 a`)
	b.eventually("a gang, its members and their stages", `
		location.hash === '#gang=default%2Ftraining' && document.querySelector('#opened-pod').childElementCount === 0 &&
		[...document.querySelectorAll('#opened-gang tbody tr')]
			.filter((row) => /^trainer-\d(pending|placed|held)/.test(row.textContent)).length === 3`)
	b.click(`#opened-gang tbody a`)
	b.eventually("a member of it", `
		/^It waits as a member of gang/.test(document.querySelector('#opened-pod .why')?.textContent) &&
		location.hash.startsWith('#pod=default%2Ftrainer-')`)
	b.eventually("the class of pods of a controller", `document.querySelector('#classes tbody a') !== null`)
	b.click(`#classes tbody a`)
	b.eventually("what is remembered of a class", `
		location.hash.startsWith('#class=') &&
		/profile default-scheduler: \d+ calls/.test(document.querySelector('#opened-class .counts')?.textContent)`)
	b.eventually("the plans", `document.querySelector('#plans h3 a') !== null`)
	b.click(`#plans h3 a`)
	b.eventually("a plan of its own", `
		location.hash === '#plan=makeroom-1' && document.querySelectorAll('#opened-plan svg .move').length === 3`)
	b.click(`#heat li`)
	b.eventually("a node, what is on it and what it offers", `
		location.hash === '#node=worker-1' && /nvidia.com\/gpu requested/.test(document.querySelector('#opened-node dl')?.textContent) &&
		[...document.querySelectorAll('#opened-node tbody tr')].some((row) => /^default\/web-\d+1.5 cores1 GiB/.test(row.textContent))`)
	b.click(`#opened-node .opener a`)
	b.eventually("all is closed", `[...document.querySelectorAll('.opened')].every((place) => place.childElementCount === 0)`)
}

// choosesWhatIsSeen looks at GPUs, and at the nodes of each zone.
func (b *browser) choosesWhatIsSeen() {
	b.Helper()
	b.eventually("GPUs in the summary", `/nvidia.com\/gpu requested0 %/.test(document.querySelector('#summary').textContent)`)
	b.choose("resource", gpu)
	b.eventually("the nodes that offer GPUs", `document.querySelectorAll('#heat li[data-level="0"]').length === 4 &&
		document.querySelectorAll('#heat li[data-level="none"]').length === 8`)
	b.choose("group", "zone")
	b.eventually("two zones", `
		[...document.querySelectorAll('#heat [role=group]')].map((group) => group.getAttribute('aria-label')).join() === 'a,b' &&
		document.querySelector('#heat p').textContent === 'a: 6 nodes, 0 %'`)
	b.eventually("no racks to group by", `document.querySelector('.controls [value=rack]').disabled`)
	b.run(chromedp.Focus(`#heat li[tabindex="0"]`), chromedp.KeyEvent(kb.End), chromedp.KeyEvent(kb.Home), chromedp.KeyEvent(kb.ArrowDown))
	b.eventually("the keyboard goes from row to row and from zone to zone", `document.activeElement.closest('[role=group]').ariaLabel === 'b'`)
	b.choose("group", "")
	b.choose("resource", "cpu")
}

// choose has the nodes be seen in another way.
func (b *browser) choose(control, value string) {
	b.Helper()
	eval[bool](b, fmt.Sprintf(`((control) => {
		control.value = %q;
		return control.dispatchEvent(new Event('change', { bubbles: true }));
	})(document.querySelector('.controls [name=%s]'))`, value, control))
}
