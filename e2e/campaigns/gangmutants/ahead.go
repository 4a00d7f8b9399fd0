package gangmutants

// ahead breaks how gangs start without calls of the scheduler.
func ahead() []mutant {
	const core, gates, commit, search, settle = "core/ahead.go", "core/gates.go", "core/commit.go", "search.go", "settle.go"
	return []mutant{
		{
			"what the scheduler may have decided before is not waited for", core,
			" || t.view.Untried(p.schedulerName, p.rivals, t.now.Add(-undecided)) {", " {",
		},
		{"a gate is lifted, however late", gates, "case !(gating{t}).goes(p):", "case false:"},
		{"room that is kept moves with every plan", settle, "if keepsRoom(pod) {", "if false {"},
		{"the margin is waited for though nobody waits", core, "early && t.view.Waits(p.rivals)", "early"},
		{"the margin is not waited for", core, "t.now.Before(member.since.Add(t.limits.Margin))", "false"},
		{"places are not proven", core, "	t.has(find)\n", "	t.commit(a.parts)\n"},
		{"places that others took are good", search, "if !plan.StillFits(pod, s.cluster.Assumed(pod.UID)) {", "if false {"},
		{"a new scheduler is not told", core, "			leading{t}.tellAnew(p)\n", "			_ = p\n"},
		{
			"a nomination of a former process is known", core,
			"t.tellAnew(p)\n		return\n", "t.keepsRoom(p, record.RoomNominated)\n		return\n",
		},
		{
			"a start that is recorded goes on under another scheduler", commit,
			" || anyReserved(c.parts) && (leading{t}).waits(c.parts)", "",
		},
		{"nothing is contested", search, "Contested: e.Weigh && s.contested(plan, pods)", "Contested: e.Weigh && false"},
		{"nobody is a rival", search, "			rivals = append(rivals, pod)\n", ""},
		{
			"gangs that are about to go are no rivals", search,
			`return place != "" && place != pod.Status.NominatedNodeName`, `return place == "" && place != pod.Status.NominatedNodeName`,
		},
		{"victims are not waited for", core, "return t.awaiting(parts, nil)", "return false"},
		{
			"who is refused after it was let go is left", core,
			"case p.stage == due && !p.gated() && p.pod.Unschedulable() && !before.Unschedulable():", "case false:",
		},
		{
			"a nomination that was not written is not written again", core,
			`case p.stage == placed && p.forgotten == "" && !t.now.Before(p.toldAt.Add(WakeRetry)):`, "case false:",
		},
		{
			"nominations of a former process stay for ever", core,
			"case p.inherited && !t.now.Before(p.since.Add(inheritance)):", "case false:",
		},
		{"who has no place stays gated", core, "|| noPlace && p.stage == pending && p.ready()", "|| false && noPlace"},
		{"gates are lifted with the first place", core, "return p.stage == due && p.hasItsRoom() ||", "return p.stage >= placed ||"},
		{"a gate is lifted later without its room", "core/gates.go", "return p.hasItsRoom() && (p.room", "return (p.room"},
		{"a gate is lifted later for another PodGroup", core, "if not != nil || !startedAll(parts) {", "if len(parts) < 0 && not != nil {"},
		{
			"the room of who stays gated is not kept", core,
			"		p.room, p.toldAt = record.RoomNominated, t.now\n		t.nominate(p)\n", "",
		},
		{"gangs that were whole once are broken up", "core/short.go", "return p.unfinished() != nil", "return true"},
		{"gangs are broken up only where there is no place", "core/short.go", "p.wereBound() < p.spec.MinMember", "p.missing() > 0"},
		{"gangs that nobody wants broken up are", "core/short.go", "t.limits.BreakAfter == 0", "false"},
		{"members join those that are about to be evicted", "core/short.go", "return going > 0", "return false"},
		{"who lost its nomination is not told of again", core, "		case p.gated() && !p.hasItsRoom() && ", "		case false && "},
	}
}
