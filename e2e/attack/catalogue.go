package attack

import "slices"

// All are all attacks, in the order in which they are tried.
func All() []Attack {
	return slices.Concat(
		[]Attack{forgedPreemption().attack(), forgedPriority().attack()},
		bindAttacks(),
		[]Attack{quantityBomb().attack()},
		bodyAttacks(),
		[]Attack{postedVocabulary(), phantoms(), stolenMember(), gatedPods(), certificates(), idleConnections()},
		pageAttacks(),
		[]Attack{endlessGroups(), hugeGangs(), foreignGroup(), forgedCommit(), tenantRights(), terminals(), createdVocabulary()},
		hoards(),
		accountAttacks(),
	)
}
