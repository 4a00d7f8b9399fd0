package reschedulermutants

// protection breaks whom the rescheduler may touch.
func protection() []mutant {
	const rules = "planner/rules.go"
	return []mutant{
		{"the only replica is moved", rules, "workloads.isOnlyReady(pod) {", "workloads.isOnlyReady(pod) && false {"},
		{"pods of Jobs that fail by it are moved", rules, "case !trusted && !bears(", "case false && !bears("},
		{
			"pods that nobody replaces are moved", rules,
			"!there || workloads.of(pod).pods > replicas",
			"!there && false || workloads.of(pod).pods > replicas",
		},
		{"pods of kube-system are moved", rules, "pod.Namespace == metav1.NamespaceSystem && ", "false && "},
		{
			"pods that bear an annotation against it are moved", rules,
			`pod.Annotations[annotationSafeToEvict] == "false", preferNo,`,
			"preferNo,",
		},
		{"pods with claims are moved", rules, "!r.AllowClaims && ", "false && "},
		{"pods of DaemonSets are moved", rules, "case isOfDaemonSet(pod):", "case false && isOfDaemonSet(pod):"},
		{"pods are moved that have just come", rules, "r.MinAge > 0 && (", "false && ("},
	}
}

// budgets break what bounds evictions.
func budgets() []mutant {
	const limits, selected, ledger = "executor/limits.go", "executor/selected.go", "planner/budgets.go"
	return []mutant{
		{"rates are not counted", limits, "now.Sub(eviction.At) < r.Per && counts(eviction)", "counts(eviction) && false"},
		{"an eviction that is asked for again counts twice", limits, "return eviction.Pod == step.Pod.UID }", "return false }"},
		{"windows are not heeded", limits, "if !l.Open(now) && !partsGang(plan, at) {", "if false {"},
		{"windows of selected pods are not heeded", selected, "if !s.open(now) && !partsGang(plan, at) {", "if false {"},
		{"more may be down than configured", selected, "down+1 > most", "down > most"},
		{"per cent are rounded down", selected, "s.MaxDown, total, true)", "s.MaxDown, total, false)"},
		{"zones are counted together", selected, `if s.TopologyKey != "" && node.Labels[s.TopologyKey] != domain {`, "if false {"},
		{"budgets of other policies bind", selected, "return len(s.Policies) == 0 || ", "return true || "},
		{
			"a workload cools down for no longer when replacements differ", "executor/cooldown.go",
			"<< min(inVain[e.Controller], mostDoublings)",
			"<< 0",
		},
		{"nodes do not cool down", "executor/cooldown.go", "return now.Before(c.nodes[name])", "return false"},
		{"a plan begins that the rates cut in the middle", "executor/begin.go", "left != AnyNumber && needs > left {", "false {"},
		{"a plan takes more of a workload than it may", ledger, "string(owner.UID)}, b.PerWorkload)", "string(owner.UID)}, 0)"},
		{"a plan takes a larger part of a workload than it may", ledger, "return (share*of + 99) / 100", "return (share*of+99)/100 + 1"},
		{
			"a plan takes more than a PodDisruptionBudget allows", ledger,
			"			open(budget.account, budget.allowed)\n",
			"			open(budget.account, budget.allowed+1)\n",
		},
	}
}

// records break the memory of evictions.
func records() []mutant {
	const record, evict, ending = "evictions/record.go", "executor/evict.go", "executor/ending.go"
	return []mutant{
		{
			"an eviction is asked for that could not be written down", evict,
			"		e.pause(step.Pod.UID, false)\n" +
				"		e.set(ctx, plan, v1alpha1.Executing, fmt.Sprintf(\"waits: the eviction of %s cannot be written down: %v\", step.Pod, err))\n" +
				"		return\n",
			"		e.pause(step.Pod.UID, false)\n",
		},
		{"evictions are forgotten with a process", record, "		if at(all, stored[i].Pod) < 0 {", "		if false {"},
		{"a record that somebody else wrote is overwritten", record, "		r.current = false // somebody", "		r.current = true // somebody"},
		{"evictions are forgotten too early", record, "now.Sub(e.At) >= r.Remembers(e)", "2*now.Sub(e.At) >= r.Remembers(e)"},
		{"an eviction that a budget forbids counts", evict, "			e.Record.Strike(ctx, step.Pod.UID)\n", ""},
		{"an eviction that was not made counts when the plan ends", ending, "			e.Record.Strike(ctx, plan.Spec.Steps[i].Pod.UID)\n", ""},
	}
}
