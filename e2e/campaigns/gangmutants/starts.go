package gangmutants

// starts break how gangs come together, are recorded and let go.
func starts() []mutant {
	const commit, quorum, hold = "core/commit.go", "core/quorum.go", "core/hold.go"
	return []mutant{
		{"quorum is one too few", quorum, "p.counted()+p.counts.came() >= p.spec.MinMember", "p.counted()+p.counts.came()+1 >= p.spec.MinMember"},
		{"kept members do not count", "core/group.go", "return c[held] + c[kept]", "return c[held]"},
		{"a start is not recorded", commit, "if p.spec.From == nil || p.mayFollow() {", "if p.spec.From != nil || p.mayFollow() {"},
		{
			"members may always follow", quorum,
			"return p.satisfiedOnce() || p.wereBound() >= p.spec.MinMember || p.unfinished() != nil", "return true",
		},
		{
			"members go before the record is written", commit,
			"t.has(WriteRecords{t.lastCommit, records, until})", "t.has(WriteRecords{t.lastCommit, records, until})\n\tt.start(parts)",
		},
		{"a record that failed counts", commit, "	case err != nil:", "	case false:"},
		{
			"a record that comes late starts a denied gang",
			commit,
			"if p.recording != id || t.groups[p.key] != p.group {",
			"if t.groups[p.key] != p.group {",
		},
		{
			"a fenced leader lets members go", commit,
			"t.deny(c.parts[0].group, status.Waiting, err.Error(), record.ErrFenced)\n\t\treturn", "",
		},
		{"the record of a later leader is overwritten", "record/writer.go", "before.Epoch.after(r.Epoch)", "r.Epoch.after(before.Epoch)"},
		{"a record ignores that more are asked for", "record/writer.go", " || asksForMore(counted, latest, r.Members)", ""},
		{"a record is written to any version", "record/writer.go", `"resourceVersion": latest.GetResourceVersion(), `, ""},
		{"a record on a copy of the PodGroup counts", "record/record.go", ` || r.PodGroup != "" && r.PodGroup != podGroup.GetUID()`, ""},
		{"members on lost places go", commit, "	if t.leaveLostPlaces(parts) {", "	if false {"},
		{"members on places that were lost during the record go", commit, "if t.leaveLostPlaces(c.parts) || ", "if "},
		{"kept members are not let go", commit, "for _, member := range p.in(kept) {", "for _, member := range p.in(stages) {"},
		{
			"a hold has no time of its own",
			hold,
			"case !t.now.Before(p.until):",
			"case false:",
		},
		{"those that are due keep their places for ever", hold, "for _, p := range g.in(due) {", "for _, p := range g.in(stages) {"},
		{"a hold never ends", "core/expire.go", "	if parts[0].late(t.now) {", "	if false {"},
		{"a member that is sent elsewhere has come", hold, "if node != p.place {", `if node == "" {`},
		{"a binding without an answer is forgotten", hold, `if t.view.Binding(e.UID) != "" {`, "if false {"},
		{"nobody is recalled", hold, "func (t *turn) recall(parts []part) {", "func (t *turn) recall(parts []part) {\n\tparts = nil"},
		{"a failed binding leaves the member let go", hold, "t.enter(p, pending)\n\t\tif t.view.Binding(e.UID)", "if t.view.Binding(e.UID)"},
		{"a process that stops ends no call", hold, "if !t.stopped || g.recording != 0 {", "if t.stopped || g.recording != 0 {"},
		{"quorum that was reached is forgotten", "core/record.go", "\tg.satisfied = true\n", ""},
		{
			"who writes a record is planned first", "core/record.go", "(g.record != nil || g.inherits) && g.unfinished() != nil",
			"g.unfinished() != nil",
		},
	}
}

// groups break who starts together, and what is asked of a group.
func groups() []mutant {
	const quorum, demand = "core/quorum.go", "core/demand.go"
	return []mutant{
		{
			"a bundle starts with its first group", "core/commit.go", "for _, p := range parts {\n\t\tif !p.quorate() || p.recording != 0 {",
			"for _, p := range parts[:1] {\n\t\tif !p.quorate() || p.recording != 0 {",
		},
		{
			"a bundle has started with one of its groups",
			quorum,
			"		if !p.started() {\n\t\t\treturn false",
			"		if p.started() {\n\t\t\treturn true",
		},
		{"groups of a bundle need not name each other", "membership/hindrance.go", `other); why != "" {`, `other); false && why != "" {`},
		{"members that wait go with those of other batches", quorum, "if !p.spec.InBatches() {", "if true {"},
		{"quorum that was reached once is asked for again", quorum, "if !p.spec.Once() {", "if true {"},
		{"every group is strict", "membership/spec.go", " || s.Policy.GangMode == v1alpha1.GangNonStrict", ""},
		{
			"minResources are not looked at",
			"search.go",
			`if why := s.lacking(e.Parts); why != "" {`,
			`if why := s.lacking(e.Parts); false && why != "" {`,
		},
		{"what is asked of a start that is half done changes", demand, "if r == nil || r.MinMember >= g.spec.MinMember {", "if r == r {"},
	}
}
