// Package kubescheduler reads kube-scheduler's own configuration, of every version that there was, and says it in muster's
// words.
//
// What is converted are the profiles: their names, the plugins that filter and score, and the arguments of these; and
// Coscheduling, which muster takes over at every extension point. A plugin that an older version had and that is gone
// becomes the one that does the same today, and a weight that was another one by default is written. All else stays with
// kube-scheduler, which goes on to read its file. Warnings name what was left out.
package kubescheduler
