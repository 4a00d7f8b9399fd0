// Package v1alpha2 reads and writes version v1alpha2 of muster's configuration: the kind MusterConfiguration
// of the API group config.muster.dev. Package config has its fields.
//
//	c, err := v1alpha2.Decode(data)
//	if err != nil {
//		return err // one error per field, each naming path and value
//	}
//	for i := range c.Profiles {
//		profile := &c.Profiles[i]
//		fmt.Println(profile.SchedulerName, profile.FilterPlugins(), profile.ScorePlugins())
//	}
package v1alpha2
