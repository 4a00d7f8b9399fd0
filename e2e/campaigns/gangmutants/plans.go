package gangmutants

// plans break how places are given to members and taken from them.
func plans() []mutant {
	const group = "core/group.go"
	return []mutant{
		{
			"a plan has a place too few", "core/quorum.go", "return p.spec.MinMember - p.counted() - c[placed] - c.came()",
			"return p.spec.MinMember - p.counted() - c[placed] - c.came() - 1",
		},
		{"who is given up is not released", "core/members.go", "t.has(Release{p.pod.UID})\n\t\tt.endHold(p, why)", "t.endHold(p, why)"},
		{"groups are planned from the lowest priority on", group, "cmp.Compare(b.priority, a.priority),", "cmp.Compare(a.priority, b.priority),"},
		{"what is left of a gang is not planned first", group, "		cmp.Compare(b.begun(), a.begun()),\n", ""},
		{"a gang that has begun gives way", "core/giveway.go", "g.recording == 0 && g.begun() == 0", "g.recording == 0"},
		{"a gang whose start is being recorded gives way", "core/giveway.go", "g.recording == 0 && g.begun() == 0", "g.begun() == 0"},
		{"who is let go is not kept counted", "core/expire.go", "g.in(placed, held, kept, reserved, due)", "g.in(placed, held, kept, reserved)"},
		{
			"who does not count any more keeps its place", "core/expire.go", "if p := t.member(e.UID); p != nil {\n\t\tt.giveUp(p, ErrUncounted)",
			"if p := t.member(e.UID); p == p {\n\t\treturn\n\t}\n\tif p := t.member(e.UID); p != nil {\n\t\tt.giveUp(p, ErrUncounted)",
		},
		{"nobody is woken", "core/steer.go", "if p.sleeps() {", "if false {"},
		{"who could not be woken sleeps on", "core/expire.go", "t.unwoken[e.UID] = t.now.Add(WakeRetry)", ""},
		{
			"nominations stay without a plan",
			"core/steer.go",
			"if !p.inherited && t.unfounded(p) && p.withdrawn != p.pod.ResourceVersion {",
			"if false {",
		},
		{"gates are lifted of those that may not go", "core/gates.go", "== nil || mayGo(p) {", "== nil || !mayGo(p) {"},
		{"a group may hold places beyond the limit", "core/plan.go", "if t.limits.MaxHolding == 0 {", "if true {"},
		{"a gang has twice its time", group, "return g.planned.Add(spec.Timeout)", "return g.planned.Add(2 * spec.Timeout)"},
	}
}

// tries break the rests of gangs that come to nothing.
func tries() []mutant {
	const file = "core/tries.go"
	return []mutant{
		{
			"a gang never rests", file, "t.next, t.sooner, t.nodes = now.Add(t.rest), now.Add(min(took, t.rest)), nodes",
			"t.next, t.sooner, t.nodes = now, now.Add(min(took, t.rest)), nodes",
		},
		{"rests do not grow", file, "t.rest = min(max(2*t.rest, first), max(mostRest, restShare*took))", "t.rest = first"},
		{"that pods were evicted in vain is forgotten", file, "return p.tries.unbound.Len() > 0", "return false"},
		{"a node that joins ends no rest", file, "if nodes.Joined(g.tries.nodes) {", "if false {"},
		{"a scheduler that was away makes a gang rest", file, "if t.purpose == forFilter && g.tries.silent {", "if false {"},
		{"a member that comes ends no rest", "core/members.go", "g.heard, g.tries = 0, true, false, g.tries.anew()", "g.heard = 0, true, false"},
		{"a gang that was denied is asked about at once", "core/expire.go", "		d.denied = t.now.Add(t.limits.DenyTTL)\n", ""},
	}
}

// evictions break preemption for gangs.
func evictions() []mutant {
	const terms = "core/terms.go"
	return []mutant{
		{"members start beside their victims", "core/clearing.go", "return len(left) > 0", "return false"},
		{"the scheduler evicts for a gang without places", "core/preempt.go", "case !anyMissing(t.parts):", "default:"},
		{"muster evicts for a gang without places", "core/clearing.go", " || anyMissing(parts) {", " {"},
		{"pods are evicted for a part of a gang", "search.go", "if !outcome.Kept {\n\t\t\ts.budget", "if false {\n\t\t\ts.budget"},
		{"muster evicts before the scheduler was told that there is no room", "core/preempt.go", "return !since.IsZero() && ", "return "},
		{"muster evicts though the scheduler asks", "core/preempt.go", "	g.noRoom = time.Time{}\n", ""},
		{"the rest of a gang goes before it is broken", "core/breakup.go", "!slices.ContainsFunc(bundle, t.isTooSmall)", "false"},
		{"the rest of a gang stays when its victims go at once", "core/breakup.go", "		t.breakUp(g)\n", ""},
		{"the rest of a gang goes whatever its priority", "core/breakup.go", "if priority(p.pod) < below {", "if true {"},
		{"a member that was left behind comes first again", "core/tries.go", "p.behind = true", "p.behind = false"},
		{"a scheduler that lags is not waited for", "core/filter.go", "t.now.Before(g.planned.Add(SchedulerLag))", "false"},
		{"pods of the same priority are evicted", terms, "priority(pod) >= t.below", "priority(pod) > t.below"},
		{
			"gangs that run are broken like any pods",
			terms,
			"if limit := t.limit(g); limit != nil {",
			"if limit := t.limit(g); false && limit != nil {",
		},
		{"gangs that are about to start are broken", terms, "case t.own.Has(g) || t.spares(g):", "case t.own.Has(g):"},
		{
			"the scheduler alone evicts",
			"core/clearing.go",
			"if v.Pod.DeletionTimestamp == nil {\n\t\t\t\tt.has(Evict",
			"if false {\n\t\t\t\tt.has(Evict",
		},
	}
}

// lives break what is known of former members and PodGroups.
func lives() []mutant {
	return []mutant{
		{"who ran on for a start of this PodGroup does not count", "core/done.go", ` || p.startOf != "" && p.startOf == d.of`, ""},
		{"members that finished in a former life count", "core/done.go", "case !d.counts(p):", "case false:"},
		{
			"members that finished before the PodGroup came never count", "core/demand.go", "r != nil && r.Since.Before(since) && !r.Since.IsZero()",
			"r != nil && r.Since.After(since) && !r.Since.IsZero()",
		},
		{"a record does not say since when members count", "core/commit.go", ", Since: p.oldest(),", ","},
		{"a record does not say until when members came", "core/commit.go", " Until: p.youngest(),", ""},
		{"members are told by the clock of muster", "core/record.go", "until := r.Until", "until := r.Time"},
		{"the starts of a former PodGroup count", "core/demand.go", `if g.of != "" && g.of != uid {`, "if false {"},
		{"a start that was left half done is forgotten", "core/record.go", "if p.stage < bound && p.wasThere(r) {", "if p == nil {"},
		{
			"members that are being deleted count", "core/members.go", "if pod.DeletionTimestamp != nil {\n\t\treturn leaving",
			"if false {\n\t\treturn leaving",
		},
		{
			"members that succeed as they are being deleted count", "finished/finished.go",
			"Gone: metadata.DeletionTimestamp != nil,", "Gone: false,",
		},
		{
			"a member that has finished stays",
			"core/members.go",
			"if of := t.groupOf[e.UID]; of != nil {",
			"if of := t.groupOf[e.UID]; false && of != nil {",
		},
	}
}

// shell breaks what is around the core: the writes, and what people are told.
func shell() []mutant {
	return []mutant{
		{"the condition never says that a gang has started", "status/next.go", "case c.scheduled() >= minMember:", "case false:"},
		{"why a gang waited stays", "core/commit.go", `		p.waits("", "")` + "\n", ""},
		{
			"a status that was written once stays", "status/writer.go", "if equality.Semantic.DeepEqual(o.PodGroup.Status, next) {",
			"if o.PodGroup.Status.Phase != \"\" || equality.Semantic.DeepEqual(o.PodGroup.Status, next) {",
		},
		{"a status that could not be written is not tried again", "status/writer.go", "w.queue.AddRateLimited(group)\n\tdefault:", "default:"},
		{"a group is running when one more runs", "status/phase.go", "case c.started() >= minMember:", "case c.started() > minMember:"},
		{"places of a plan that failed stay", "search.go", "for _, before := range order[:i] {", "for _, before := range order[:0*i] {"},
		{
			"a record waits for nobody", "manager.go", "m.records.write = func(r core.WriteRecords) { go m.writeRecords(r) }",
			"m.records.write = func(r core.WriteRecords) { go m.recorded(r.Commit, nil) }",
		},
		{"what came of a record is not told", "record.go", "	m.apply(core.Recorded{Commit: commit, Err: err})", ""},
		{"a call that nobody waits for stays held", "permit.go", "m.apply(core.HungUp{UID: uid, Hold: h.id, Err: why})", ""},
	}
}
