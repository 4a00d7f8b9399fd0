package campaign

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// script is done to the cluster of a run, whatever comes of it.
type script struct {
	nodes  []*corev1.Node    // that are there before
	events []event           // in the order of time
	pods   map[string]origin // by name
}

// origin tells of a pod, from a script, what may matter for how long it waits.
type origin struct {
	season    season // in which it comes
	scheduler string
}

// event is something that is done to the cluster.
type event struct {
	at   time.Duration // since the run began
	kind kind
	pod  *corev1.Pod  // of podCreated
	node *corev1.Node // of nodeAdded
	name string       // of what is deleted or finishes
	down time.Duration
}

type kind int

const (
	podCreated   kind = iota
	podDeleted        // by its owner, pending or not
	podFinished       // if it is bound, else nothing
	nodeAdded         // a new one, or one that was lost
	nodeLost          // with the pods on it
	musterKilled      // and started again after it was down for a time
)

// season is a part of a run.
type season int

const (
	calm season = iota
	crowded
	outage
	seasons
)

func (s season) String() string { return [seasons]string{"calm", "crowded", "outage"}[s] }

// seasonAt is the season at a moment of a cycle of all of them.
func seasonAt(within, cycle time.Duration) season {
	switch {
	case within < cycle*40/100:
		return calm
	case within < cycle*75/100:
		return crowded
	}
	return outage
}

const (
	// cycleTime is how long all seasons take together, about.
	cycleTime = 30 * time.Second
	// step is the resolution of a script.
	step = 50 * time.Millisecond
	// calmLife is how long a pod of a calm season lives on average, so that many come and go. Others
	// live for longLife, and a tenth of all for shortLife, in which many are not bound.
	calmLife, longLife, shortLife = 4 * time.Second, 15 * time.Second, 400 * time.Millisecond
	// succeededFor is how long a pod is kept that has finished.
	succeededFor = time.Second
	// burstGap is the average time between two bursts of pods.
	burstGap = 1500 * time.Millisecond
	// lossGap is the average time between two losses of nodes, lossTime how long one is
	// away.
	lossGap, lossTime = 2 * time.Second, 5 * time.Second
	// killAfter is how far into an outage muster is killed at the latest, downTime how long
	// it is down at most.
	killAfter, downTime = 400 * time.Millisecond, 1500 * time.Millisecond
)

// write draws a script. It is a function of its arguments alone.
func write(seed uint64, nodes int, length time.Duration) *script {
	r := rand.New(rand.NewPCG(seed, 0))
	cycles := max(1, (length+cycleTime/2)/cycleTime)
	w := &writer{script: script{pods: map[string]origin{}}, rand: r, owners: drawOwners(r, nodes), season: seasons}
	for range nodes {
		w.addNode()
	}
	for _, e := range w.events {
		w.nodes = append(w.nodes, e.node)
	}
	w.events = nil
	w.nextLoss = w.after(lossGap)
	for ; w.now < length; w.now += step {
		w.endLives()
		if now := seasonAt(w.now%(length/cycles), length/cycles); now != w.season {
			w.turn(now)
		}
		w.turnNodes()
		if w.now >= w.nextBurst {
			w.burst()
			w.nextBurst = w.now + w.after(burstGap)
		}
	}
	return &w.script
}

// writer writes a script from its beginning to its end.
type writer struct {
	script
	rand   *rand.Rand
	now    time.Duration
	season season
	turns  int // of seasons

	owners    []*owner
	lives     []life
	load      size // of all lives
	nextBurst time.Duration

	present, lost []*corev1.Node
	returns       []time.Duration // of the lost nodes
	named         int             // nodes
	room          size            // of all nodes that are present
	nextLoss      time.Duration
	kill          time.Duration // when muster is to be killed, 0 for never
}

// life is a pod that was created and not deleted by the script.
type life struct {
	name     string
	owner    *owner
	end      time.Duration
	finishes bool
}

func (w *writer) add(e event) {
	e.at = w.now
	w.events = append(w.events, e)
}

// after draws the time until something that happens once in a while.
func (w *writer) after(average time.Duration) time.Duration {
	return time.Duration(w.rand.ExpFloat64() * float64(average))
}

// endLives has pods finish and deletes them when their time has come.
func (w *writer) endLives() {
	w.lives = slices.DeleteFunc(w.lives, func(l life) bool {
		if l.end <= w.now {
			w.deletePod(l)
		}
		return l.end <= w.now
	})
	for i := range w.lives {
		if l := &w.lives[i]; l.finishes && l.end-succeededFor <= w.now {
			l.finishes = false
			w.add(event{kind: podFinished, name: l.name})
		}
	}
}

func (w *writer) deletePod(l life) {
	w.add(event{kind: podDeleted, name: l.name})
	w.load = w.load.minus(l.owner.size)
	l.owner.alive--
}

// turn begins a season.
func (w *writer) turn(to season) {
	w.season = to
	w.turns++
	w.nextBurst = w.now
	if to == outage {
		w.kill = w.now + step + time.Duration(w.rand.Int64N(int64(killAfter)))
	}
	if w.load.of(w.room) <= w.level() {
		return
	}
	// The youngest go, many of them pending, until there is a long way to go to the level.
	for len(w.lives) > 0 && w.load.of(w.room) > w.level()/4 {
		last := len(w.lives) - 1
		w.deletePod(w.lives[last])
		w.lives = w.lives[:last]
	}
	w.nextBurst = w.now + 2*time.Second
}

// level is how much of the cluster the pods ask for at most.
func (w *writer) level() float64 {
	switch {
	case w.season == calm:
		return 0.5
	case w.season == outage && w.turns%2 == 0: // every other one
		return 0.8
	}
	return 1.4
}

// turnNodes loses nodes, adds nodes and kills muster.
func (w *writer) turnNodes() {
	if w.kill > 0 && w.now >= w.kill {
		w.kill = 0
		w.add(event{kind: musterKilled, down: time.Duration(w.rand.Int64N(int64(downTime)))})
	}
	if w.now >= w.nextLoss {
		w.nextLoss = w.now + w.after(lossGap)
		if len(w.lost) < max(1, len(w.nodes)/10) {
			w.loseNode()
		}
	}
	for len(w.lost) > 0 && w.returns[0] <= w.now {
		lost := w.lost[0]
		w.lost, w.returns = w.lost[1:], w.returns[1:]
		if w.rand.IntN(3) == 0 {
			w.addNode()
		} else {
			w.returnNode(lost)
		}
	}
}

func (w *writer) loseNode() {
	i := w.rand.IntN(len(w.present))
	lost := w.present[i]
	w.present = slices.Delete(w.present, i, i+1)
	w.room = w.room.minus(offered(lost))
	w.lost, w.returns = append(w.lost, lost), append(w.returns, w.now+lossTime)
	w.add(event{kind: nodeLost, name: lost.Name})
}

func (w *writer) addNode() {
	w.returnNode(drawNode(w.rand, w.named))
	w.named++
}

func (w *writer) returnNode(n *corev1.Node) {
	w.present = append(w.present, n)
	w.room = w.room.plus(offered(n))
	w.add(event{kind: nodeAdded, node: n})
}

// burst creates pods of a few owners. Where more is asked for than there is, it makes enough of
// them.
func (w *writer) burst() {
	for drawn, few := 0, 3+w.rand.IntN(4); drawn < few || w.level() > 1 && w.load.of(w.room) < 0.9*w.level(); drawn++ {
		o := w.owners[w.rand.IntN(len(w.owners))]
		for range 1 + w.rand.IntN(len(w.nodes)/2) {
			if o.alive == o.atMost || w.load.plus(o.size).of(w.room) > w.level() {
				break
			}
			w.createPod(o)
		}
	}
}

func (w *writer) createPod(o *owner) {
	average := longLife
	switch {
	case w.rand.IntN(10) == 0:
		average = shortLife
	case w.season == calm:
		average = calmLife
	}
	l := life{name: fmt.Sprintf("pod-%05d", len(w.pods)), owner: o, end: w.now + w.after(average), finishes: w.rand.IntN(6) == 0}
	w.lives = append(w.lives, l)
	w.load = w.load.plus(o.size)
	o.alive++
	w.pods[l.name] = origin{w.season, o.scheduler}
	w.add(event{kind: podCreated, pod: o.pod(l.name)})
}
