package page

import (
	"testing"

	"github.com/chromedp/chromedp"

	"muster.dev/muster/e2e/lab"
)

// TestThePageDrawsManyNodes measures how long it takes to draw 5,000 nodes that have all changed, in the map and in the table, which is
// open, until what is drawn is laid out.
func TestThePageDrawsManyNodes(t *testing.T) {
	lab.Long(t)
	t.Parallel()
	b := newBrowser(t)
	b.run(chromedp.Navigate("http://" + serve(t, dump).debug))
	b.eventually("the node has a cell", `document.querySelectorAll('#heat li').length === 1`)
	b.run(chromedp.Click(`#heat-table summary`))
	eval[bool](b, `(async () => {
		const { Cluster } = await import(new URL('page/cluster.js', document.baseURI));
		const cluster = new Cluster(() => {});
		const nodes = (round) => Array.from({ length: 5000 }, (_, i) => ({
			node: 'node-' + i, zone: 'z' + i % 7, allocatable: { cpu: 64000, memory: 2 ** 38, pods: 110, extended: { 'nvidia.com/gpu': 8 } },
			requested: {
				cpu: (i * 7919 + round * 31337) % 64000, memory: 2 ** 30 * ((i + round) % 256), pods: (i + round) % 110,
				extended: { 'nvidia.com/gpu': (i + round) % 9 },
			},
		}));
		const time = (view) => {
			Object.assign(cluster.view, view);
			cluster.set(nodes(0));
			const rounds = [];
			for (let round = 1; round <= 9; round++) {
				const answer = nodes(round);
				const began = performance.now();
				cluster.set(answer);
				document.body.getBoundingClientRect();
				rounds.push(performance.now() - began);
			}
			return rounds.sort((a, b) => a - b)[4];
		};
		const took = [time({}), time({ group: 'zone' }), time({ order: 'share', group: '' })];
		const made = document.querySelectorAll('#heat-table tbody tr').length;
		window.redrawn = made < 500 ? took : [made];
	})().catch((error) => { window.redrawn = [String(error)]; }), true`)
	b.eventually("5,000 nodes are drawn", `Array.isArray(window.redrawn)`)
	took := eval[[]any](b, `window.redrawn`)
	if len(took) != 3 {
		b.Fatalf("the table has so many rows at a time, or something is wrong: %v", took)
	}
	b.Logf("figure page_redraw_ms_5000=%.0f", took[0])
	b.Logf("figure page_redraw_grouped_ms_5000=%.0f", took[1])
	b.Logf("figure page_redraw_fullest_first_ms_5000=%.0f", took[2])
}
