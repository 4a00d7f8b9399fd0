package muster

import (
	"context"
	"encoding/json"
	"fmt"
)

// RoomInTime has what a server says at one moment of the room that it books for gangs.
type RoomInTime struct {
	// Leads says that the server may book: it is the leader, or runs for no election.
	Leads bool
	// Pods is for how many pods room is booked, and IdlePodSeconds for how long such room has stood empty, by the namespaces of gangs.
	Pods           map[string]float64
	IdlePodSeconds map[string]float64
}

// Booked is for how many pods room is booked, of any namespace.
func (r RoomInTime) Booked() (pods int) {
	for _, count := range r.Pods {
		pods += int(count)
	}
	return pods
}

// RoomInTime reads the server's metrics once.
func (s *Server) RoomInTime(ctx context.Context) (RoomInTime, error) {
	families, err := s.metrics(ctx)
	if err != nil {
		return RoomInTime{}, err
	}
	sums := func(name, label string) map[string]float64 {
		of := map[string]float64{}
		for _, m := range families[name].GetMetric() {
			for _, pair := range m.GetLabel() {
				if pair.GetName() == label {
					of[pair.GetValue()] += m.GetGauge().GetValue() + m.GetCounter().GetValue()
				}
			}
		}
		return of
	}
	leader, elected := families["muster_leader"]
	r := RoomInTime{
		Leads: !elected, Pods: sums("muster_booked_pods", "namespace"),
		IdlePodSeconds: sums("muster_booked_idle_pod_seconds_total", "namespace"),
	}
	for _, m := range leader.GetMetric() {
		r.Leads = r.Leads || m.GetGauge().GetValue() > 0
	}
	return r, nil
}

// Forecast has what a server says of when a gang starts.
type Forecast struct {
	Outcome   string
	Booked    bool
	InSeconds float64
}

// When returns the forecasts for the gangs of a name.
func (s *Server) When(ctx context.Context, namespace, name string) ([]Forecast, error) {
	text, err := s.Page(ctx, "/debug/when/"+namespace+"/"+name+"?format=json")
	if err != nil {
		return nil, err
	}
	var said struct{ Gangs []Forecast }
	if err := json.Unmarshal([]byte(text), &said); err != nil {
		return nil, fmt.Errorf("/debug/when of %s/%s: %w", namespace, name, err)
	}
	return said.Gangs, nil
}
