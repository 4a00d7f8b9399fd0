package reschedulermutants

// steps break how a plan is carried out.
func steps() []mutant {
	const evict, await, executor = "executor/evict.go", "executor/await.go", "executor/executor.go"
	return []mutant{
		{
			"a refusal by a budget ends a plan", evict,
			"	case apierrors.IsTooManyRequests(err):\n		e.count(plan, evictionDelayed)\n",
			"	case apierrors.IsTooManyRequests(err):\n		e.end(ctx, plan, failed(\"no\"))\n		return\n",
		},
		{"a refusal by a budget may be an eviction", evict, "	case apierrors.IsTooManyRequests(err):\n", "	case false:\n"},
		{
			"an eviction of which no answer came has come to nothing", evict,
			"		e.pause(step.Pod.UID, true)\n",
			"		e.pause(step.Pod.UID, false)\n",
		},
		{"an attempt never comes to nothing", evict, "e.Clock.Since(last.asked) >= settling {", "false {"},
		{
			"pods are evicted though the plan does not work any more", evict,
			`	if why := e.check(plan, at); why != "" {`,
			`	if why := e.check(plan, at); why == "?" {`,
		},
		{
			"pods are evicted in the last moment", evict,
			"e.Clock.Now().Add(limit).After(plan.Expires())",
			"e.Clock.Now().After(plan.Expires())",
		},
		{"a replacement that is not ready will do", await, "	case !replacement.Ready():", "	case false && !replacement.Ready():"},
		{
			"a pod that has not ended is not waited for", await,
			"	case e.on(step.From, step.Pod.UID) != nil:",
			"	case false && e.on(step.From, step.Pod.UID) != nil:",
		},
		{
			"a replacement that comes back is as good as moved", await,
			"	case replacement.Spec.NodeName == step.From:",
			"	case false && replacement.Spec.NodeName == step.From:",
		},
		{"a replacement is waited for without end", await, "; e.since(plan.Step(at).Evicted) > limit {", "; false {"},
		{"a plan says each thing at once", await, "if e.since(plan.Step(at).Evicted) >= e.TellAfter {", "if true {"},
		{
			"one that was there before is the replacement", "executor/siblings.go",
			"	e.newcomers.before[step.Pod.UID] = there\n",
			"	_ = there\n",
		},
		{
			"steps go on though nobody waits any more", executor,
			"len(plan.Spec.Beneficiaries) > 0 && len(e.waiting(plan)) == 0 && !partsGang(plan, at)",
			"false",
		},
		{"a gang is moved in part", executor, `if gang(done) != "" && gang(done) == gang(left) {`, `if gang(done) == "?" {`},
		{"two plans run at a time", executor, "		free = false\n", ""},
	}
}

// modes break what modes promise.
func modes() []mutant {
	const approval, ending = "executor/approval.go", "executor/ending.go"
	return []mutant{
		{"a dry run is carried out", approval, "if plan.Spec.Mode == v1alpha1.DryRun || e.Mode == v1alpha1.DryRun {", "if false {"},
		{
			"a plan runs without approval", approval,
			"return plan.IsApproved() || plan.Spec.Mode == v1alpha1.Auto && e.Mode == v1alpha1.Auto",
			"return true",
		},
		{"the time of a plan does not count from its approval", approval, "		if plan.IsApproved() {\n", "		if false {\n"},
		{"a plan goes on in a stricter mode", ending, "	if allows(mode, plan) {", "	if true {"},
		{
			"plans of a dry run stay when the mode is another", approval,
			"if plan.Spec.Mode == v1alpha1.DryRun && e.Mode != v1alpha1.DryRun {",
			"if false {",
		},
		{"a dry run nominates", "executor/await.go", "	if e.Mode == v1alpha1.DryRun {\n		return\n	}\n", ""},
	}
}

// room breaks how the room of a plan is kept.
func room() []mutant {
	const claim, giveup = "reservation/claim.go", "reservation/giveup.go"
	return []mutant{
		{"room is open before its pod goes", claim, "case !r.open || r.taker != \"\":", "case r.taker != \"\":"},
		{"room is given twice", claim, "case !r.open || r.taker != \"\":", "case !r.open:"},
		{"a replacement may go back", claim, "				left.Insert(step.From)\n", ""},
		{"what later steps keep is in the way", claim, "				if other.plan == r.plan {", "				if false && other.plan == r.plan {"},
		{"a differing replacement is held to room that does not do", giveup, "		if !place.differs {", "		if true {"},
		{"room is kept that was given up", giveup, "!gaveUp && reason == \"\"", "(!gaveUp || true) && reason == \"\""},
		{"one that was on the node before takes the room", "reservation/taker.go", "			r.earlier.Insert(pod.UID)\n", "			_ = pod\n"},
	}
}

// marks break what is written on nodes.
func marks() []mutant {
	const closing, marks = "executor/closing.go", "executor/marks.go"
	return []mutant{
		{
			"a cordon of a user is undone", closing,
			"		!slices.ContainsFunc(node.ManagedFields, cordonsForOthers)",
			"		!slices.ContainsFunc(node.ManagedFields[:0], cordonsForOthers)",
		},
		{
			"an emptied node stays closed for ever", marks,
			"case t.needed.Has(node.Name), !t.now.Before(until):",
			"case t.needed.Has(node.Name), until.IsZero():",
		},
		{
			"a closed node stays closed though it is needed", marks,
			"case t.needed.Has(node.Name), !t.now.Before(until):",
			"case !t.now.Before(until):",
		},
		{
			"the marks of a plan that failed stay", marks,
			`	case emptying == "" && emptied == "" && !isClosed(node.Node):`,
			`	case emptied == "" && !isClosed(node.Node) || plan != nil:`,
		},
		{"nodes are not marked", marks, "				closeNode(fresh, m.Mark)\n", ""},
	}
}

// plans break the planner and the loop.
func plans() []mutant {
	return []mutant{
		{"a plan is made while one is carried out", "loop/loop.go", "	if l.executor.Busy() {\n		return run{", "	if false {\n		return run{"},
		{"pods that have just come have waited for long enough", "loop/waits.go", "now.Sub(since) < enough || ", "since.IsZero() || "},
		{
			"a plan is made that could not begin", "loop/loop.go", `; why != "" {` + "\n		return run{What: why}\n	}\n	plan, why",
			`; why == "?" {` + "\n		return run{What: why}\n	}\n	plan, why",
		},
		{"nodes that are about to go are targets", "planner/targets.go", "	if goes(node) {\n		return ReasonNodeGoes\n	}\n	for", "	for"},
		{"nodes that are to stay are emptied", "planner/targets.go", "case node.Annotations[annotationScaleDown] == \"true\", ", "case "},
	}
}
