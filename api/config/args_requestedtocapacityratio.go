package config

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// RequestedToCapacityRatioParam is how NodeResourcesFit scores by the share of a resource
// that is requested.
type RequestedToCapacityRatioParam struct {
	// Shape is the function from that share to a score, as points in the order of
	// utilization. It is linear between two points and constant beyond the outer ones.
	Shape []UtilizationShapePoint `json:"shape"`
}

// UtilizationShapePoint is a point of the function.
type UtilizationShapePoint struct {
	// Utilization is how much of the node is requested, 0 to 100 percent.
	Utilization int32 `json:"utilization"`
	// Score of a node that is utilized so much, 0 to 10.
	Score int32 `json:"score"`
}

// MaxShapeScore is the highest score of a shape. It stands for the highest that a plugin gives.
const MaxShapeScore = 10

// validateRatio checks that there is a shape where it is read, and that it is a function.
func (s *ScoringStrategy) validateRatio(path *field.Path) field.ErrorList {
	if s.Type != RequestedToCapacityRatio {
		if s.RequestedToCapacityRatio != nil {
			return field.ErrorList{field.Forbidden(path, fmt.Sprintf("only with type %s", RequestedToCapacityRatio))}
		}
		return nil
	}
	if s.RequestedToCapacityRatio == nil || len(s.RequestedToCapacityRatio.Shape) == 0 {
		return field.ErrorList{field.Required(path.Child("shape"), "give at least one point, such as {utilization: 100, score: 10}")}
	}
	var errs field.ErrorList
	shape := s.RequestedToCapacityRatio.Shape
	for i, point := range shape {
		at := path.Child("shape").Index(i)
		if point.Utilization < 0 || point.Utilization > 100 {
			errs = append(errs, field.Invalid(at.Child("utilization"), point.Utilization, "must be between 0 and 100"))
		}
		if i > 0 && point.Utilization <= shape[i-1].Utilization {
			errs = append(errs, field.Invalid(at.Child("utilization"), point.Utilization, "must be greater than that of the point before"))
		}
		if point.Score < 0 || point.Score > MaxShapeScore {
			errs = append(errs, field.Invalid(at.Child("score"), point.Score, fmt.Sprintf("must be between 0 and %d", MaxShapeScore)))
		}
	}
	return errs
}
