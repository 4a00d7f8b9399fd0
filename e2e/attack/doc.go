// Package attack tries out, on a real control plane, what somebody hostile could try: whoever reaches
// the ports of muster, a tenant who may create pods, who has taken over muster's own account, and a
// page in a browser. kube-scheduler and muster serve others meanwhile.
//
// An [Attack] tries something and collects an outcome; its check says of the outcome alone whether the
// attack succeeded. Each attack names outcomes that are successes, so that a check that lets
// everything pass is found. muster has the rights of the chart's role and the policy of its account,
// so what is held is held with these.
//
// A success is a defect of muster's. What is seen at all is in the outcome: an attack that is held
// off by something else than it was written for, as by a stage that it could not set, is an error.
package attack
