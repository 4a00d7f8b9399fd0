package reschedulermutants

// policies break the reasons to move pods.
func policies() []mutant {
	const hot, relieve, balance, respread = "policy/hot.go", "policy/relieve.go", "policy/balance.go", "policy/respread.go"
	return []mutant{
		{"a node is hot at once", hot, "s.hot < h.samples || ", "s.hot < 1 || "},
		{"figures of before an eviction count", hot, " || m.Since.Before(evicted(node.Name))", ""},
		{"one measurement counts as often as it is looked at", hot, "		return s\n", "		s.hot++\n		return s\n"},
		{"pods go to nodes that get hot by it", hot, "thresholds := now.target\n", "thresholds := now.high\n"},
		{"pods go to nodes that were not measured", hot, "if !known || len(pressed) > 0", "if known && len(pressed) > 0"},
		{"pods go to nodes whose processes wait", hot, "len(pressed) > 0 && !relieved(node) {", "false {"},
		{"all hot nodes are relieved at once", relieve, "	if most > 0 {", "	if false {"},
		{"load is balanced while pods wait", balance, "		if s.Pending > 0 {", "		if false {"},
		{"gangs are moved for balance", balance, "membership.Of(pod.Pod); member || ", "membership.Of(pod.Pod); false && member || "},
		{"balance moves for no gain", balance, "max(b.high[i]-c.MinGain, 1)", "b.high[i]"},
		{"pods are spread while others wait", respread, "		if s.Pending > 0 {", "		if false {"},
		{"gangs are spread", respread, "membership.Of(pod.Pod); member || ", "membership.Of(pod.Pod); false && member || "},
		{"pods are spread for no gain", respread, ".value() >= s.gain", ".value() >= 0*s.gain"},
		{
			"others move so that pods are spread", respread,
			"		problem.Limits.Hops = 1 // nobody",
			"		problem.Limits.Hops = 3 // nobody",
		},
		{
			"pods are repaired that may stay", "policy/repair.go",
			"func(o predicates.Objection) bool { return checks.Has(o.Predicate) }",
			"func(predicates.Objection) bool { return true }",
		},
		{
			"duplicates move to others of their kind", "policy/repair.go",
			"To:    func(node *cluster.Node) bool { return !othersOf(uid, node, pod.UID) },",
			"To:    func(*cluster.Node) bool { return true },",
		},
		{
			"the more important pods are repaired first", "policy/repair.go",
			"		cmp.Compare(corev1helpers.PodPriority(a.Pod), corev1helpers.PodPriority(b.Pod)),",
			"		cmp.Compare(corev1helpers.PodPriority(b.Pod), corev1helpers.PodPriority(a.Pod)),",
		},
		{
			"a pod is separated to others of the same kind", "policy/separate.go",
			"return p.UID == other.UID || owner != nil",
			"return p.UID == other.UID || false && owner != nil",
		},
		{
			"pods are separated from what is elsewhere", "policy/separate.go",
			"		case asked && from.Node == node.Name:",
			"		case asked && from.Node != \"\":",
		},
	}
}

// looks break when plans are made, and for whom.
func looks() []mutant {
	return []mutant{
		{
			"pods that cool down are planned for", "loop/situation.go",
			"		return cooling.Why(pod, node.Name, l.clock.Now())",
			"		_ = cooling\n		return \"\"",
		},
		{"workloads do not cool down", "executor/cooldown.go", "	return now.Before(c.controllers[uid])", "	return false"},
		{"a second plan of a policy is made", "loop/loop.go", "if plan.Spec.Policy == p.Name && !plan.Ended() && ", "if false && "},
		{
			"a plan that waits for a yes lasts as one that runs", "loop/loop.go",
			"	if l.config.Mode == v1alpha1.Approve {",
			"	if false {",
		},
		{
			"a plan that does not work any more waits for a yes", "executor/approval.go",
			`	return why != "" && e.end(`,
			`	return why == "?" && e.end(`,
		},
		{"pods that were not refused have waited", "loop/waits.go", " || !pod.Unschedulable() && !membership.Gated(pod.Pod)", ""},
		{
			"nodes that are not ready are targets", "planner/targets.go",
			"c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue", "false && c.Status != corev1.ConditionTrue",
		},
		{"plans last for ever", "executor/executor.go", "		case !e.Clock.Now().Before(plan.Expires()):", "		case false:"},
		{
			"steps are taken from the last on", "executor/executor.go",
			"	at := 0\n	for at < len(plan.Spec.Steps) && plan.Step(at).Phase == v1alpha1.StepMoved {\n		at++\n	}\n",
			"	at := len(plan.Spec.Steps)\n	for i := range plan.Spec.Steps {\n		if plan.Step(i).Phase != v1alpha1.StepMoved {\n			at = i\n		}\n	}\n",
		},
		{"pods are evicted before muster keeps the room", "executor/executor.go", "	if !plan.IsReserved() {", "	if false {"},
		{
			"a step begins in a stricter mode", "executor/executor.go",
			"	if how := stricter(e.Mode, plan); how != nil {",
			"	if how := stricter(e.Mode, plan); false && how != nil {",
		},
		{
			"an eviction is asked for again in a stricter mode", "executor/evict.go",
			"	if how := stricter(e.Mode, plan); how != nil {",
			"	if how := stricter(e.Mode, plan); false && how != nil {",
		},
	}
}

// answers break what the extender says of room.
func answers() []mutant {
	const confirm, system, taker, claim = "reservation/confirm.go", "reservation/system.go", "reservation/taker.go", "reservation/claim.go"
	return []mutant{
		{"room is promised without a rehearsal", confirm, "plan.Status.Phase == v1alpha1.Approved { // one", "false { // one"},
		{
			"room is promised before the scheduler knows", confirm,
			`	case why == "":` + "\n		return nil\n",
			`	case why == "":` + "\n",
		},
		{
			"room that was given up is promised", confirm,
			`if reason, _ := plan.GivenUp(); reason != "" || !reserving {`,
			"if !reserving {",
		},
		{"every pod passes", system, "	return IsPinnedToNode(pod) || ", "	return true || IsPinnedToNode(pod) || "},
		{"nothing passes", system, "if !k.inForce.Load() || !passes(pod) {", "if true {"},
		{"who has taken room may be evicted", taker, "			spared.Insert(r.taker)\n", ""},
		{"room that its taker has lost stays lost", claim, "			k.cluster.Reserve(r.pod, r.node)\n", ""},
		{
			"room counts twice when it is taken", claim,
			"if err := k.cluster.Exchange(place.placeholder, pod, on); err != nil {",
			`if err := k.cluster.Exchange("", pod, on); err != nil {`,
		},
		{"who has taken room is not known", claim, "		r.taker = pod.UID\n", "		_ = r\n"},
		{"the time of a plan counts from when it was made", "reservation/since.go", "if !plan.Runs() {", "if false {"},
		{"what was evicted is not written with its budgets", "executor/evict.go", "		Budgets: l.budgets(plan, step, snap),\n", ""},
	}
}
