package main

import (
	"fmt"
	"time"

	"muster.dev/muster/cluster"
	"muster.dev/muster/placement"
)

// plan places pods as a gang is placed: on a snapshot of the instance, by all predicates.
func plan(in *instance) (places, error) {
	g, err := newGround()
	if err != nil {
		return nil, err
	}
	network := &placement.Network{Required: in.required, Balanced: in.balanced, Slices: in.slices}
	for level := range in.levels {
		network.Levels = append(network.Levels, levelKey(level+1))
	}
	var beside []int
	for n, node := range in.nodes {
		offers := node.free
		for k, there := range node.there {
			for resource, asked := range in.kinds[k].asks {
				offers[resource] += there * asked
			}
		}
		if err := g.cluster.Set(nodeObject(n, node.path, offers)); err != nil {
			return nil, err
		}
		for k, there := range node.there {
			for range there {
				beside = append(beside, n)
				pod := podObject(job(k), in.kinds[k].count+len(beside), in.kinds[k].asks, in.kinds[k].apart)
				if err := g.running(pod, n); err != nil {
					return nil, err
				}
			}
		}
	}
	snap := g.cluster.Snapshot()
	indexes := map[int32]int{}
	for n := range in.nodes {
		indexes[snap.NodeByName(nodeName(n)).Index] = n
	}
	for _, n := range beside {
		network.Beside = append(network.Beside, snap.NodeByName(nodeName(n)).Index)
	}
	return in.placed(g, network, indexes)
}

// job is the name of the Job that makes the pods of a kind.
func job(kind int) string { return fmt.Sprint("kind-", kind) }

// placed plans the pods, and says how many of each kind each node gets.
func (in *instance) placed(g *ground, network *placement.Network, indexes map[int32]int) (places, error) {
	var pods []*cluster.Pod
	of := map[*cluster.Pod]int{}
	for k, kind := range in.kinds {
		for i := range kind.count {
			pod := cluster.NewPod(podObject(job(k), i, kind.asks, kind.apart))
			pods, of[pod] = append(pods, pod), k
		}
	}
	plan := placement.New(g.store, pods, 1)
	defer plan.Close()
	result := plan.PlaceTogether([]placement.Demand{{Pods: pods, AtLeast: len(pods), Network: network}}, time.Time{})
	if !result.Kept {
		return nil, nil
	}
	placed := make(places, len(in.kinds))
	for k := range placed {
		placed[k] = make([]int, len(in.nodes))
	}
	for _, place := range result.Enough[0].Places {
		placed[of[place.Pod]][indexes[place.Node]]++
	}
	return placed, nil
}
