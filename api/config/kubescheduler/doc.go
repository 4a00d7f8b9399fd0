// Package kubescheduler reads kube-scheduler's own configuration, and says it in muster's words.
//
// What is converted are the profiles: their names, the plugins that filter and score, and the arguments of these. All
// else stays with kube-scheduler, which goes on to read its file. Warnings name what was left out.
package kubescheduler
