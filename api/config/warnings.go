package config

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Warnings returns what is valid but ignored, or likely to harm, one line each with the path of
// the field.
func (c *Configuration) Warnings() []string {
	var warnings []string
	if c.Rescheduler.Evictable.MinReplicas == 0 {
		warnings = append(warnings, "rescheduler.evictable.minReplicas: 0 has the only ready pod of a controller moved; 1 protects it")
	}
	for i := range c.Profiles {
		for j := range c.Profiles[i].PluginConfig {
			warnings = append(warnings, c.Profiles[i].PluginConfig[j].Ignored...)
		}
		plugins := field.NewPath("profiles").Index(i).Child("plugins")
		warnings = append(
			warnings,
			c.Profiles[i].Plugins.Filter.weighted().warnings(plugins.Child("filter"), "what the pods ask for in their specs may be ignored")...)
		warnings = append(
			warnings,
			c.Profiles[i].Plugins.Score.warnings(plugins.Child("score"), "what the pods prefer in their specs may be ignored")...)
	}
	return warnings
}

func (s ScoreSet) warnings(path *field.Path, harm string) []string {
	at := indexOf(s.Disabled, AllPlugins)
	if at < 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s: %q disables every default plugin, later versions' too, so that %s: better name the plugins",
		path.Child("disabled").Index(at).Child("name"), AllPlugins, harm)}
}
