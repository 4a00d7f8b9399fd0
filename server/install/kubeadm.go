package install

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// volumeName names the volume of muster's directory in kube-scheduler's pod.
const volumeName = "muster"

// edited returns a document in YAML as an edit of its fields leaves it, and itself if that changes nothing.
func edited(text string, edit func(fields map[string]any) (changed bool, err error)) (string, error) {
	fields := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &fields); err != nil {
		return "", err
	}
	changed, err := edit(fields)
	if err != nil || !changed {
		return text, err
	}
	made, err := yaml.Marshal(fields)
	return string(made), err
}

// list reads a list of a document.
func list(fields map[string]any, path ...string) []any {
	found, _, _ := unstructured.NestedFieldNoCopy(fields, path...)
	values, _ := found.([]any)
	return values
}

// named returns the place of the element of a name in a list, -1 for none.
func named(list []any, name string) int {
	return slices.IndexFunc(list, func(element any) bool {
		fields, isMap := element.(map[string]any)
		return isMap && fields["name"] == name
	})
}

// addToPod changes the manifest of kube-scheduler's static pod.
func (n node) addToPod(fields map[string]any) (bool, error) {
	container, err := schedulerIn(fields)
	if err != nil {
		return false, err
	}
	command, flag := list(container, "command"), "--config="+n.schedulerConfig()
	for _, arg := range command {
		if arg == flag {
			return false, nil
		}
		if text, _ := arg.(string); strings.HasPrefix(text, "--config=") {
			return false, fmt.Errorf("kube-scheduler has another configuration, %s: have it start with %s, and merge the two", text, flag)
		}
	}
	container["command"] = append(command, flag)
	container["volumeMounts"] = append(list(container, "volumeMounts"), map[string]any{
		"name": volumeName, "mountPath": n.configs, "readOnly": true,
	})
	spec := fields["spec"].(map[string]any)
	spec["volumes"] = append(list(spec, "volumes"), map[string]any{
		"name": volumeName, "hostPath": map[string]any{"path": n.configs, "type": "Directory"},
	})
	return true, nil
}

// takeFromPod takes back what addToPod does.
func (n node) takeFromPod(fields map[string]any) (bool, error) {
	container, err := schedulerIn(fields)
	if err != nil {
		return false, err
	}
	command := list(container, "command")
	at := slices.Index(command, any("--config="+n.schedulerConfig()))
	if at < 0 {
		return false, nil
	}
	container["command"] = slices.Delete(command, at, at+1)
	without(container, "volumeMounts")
	without(fields["spec"].(map[string]any), "volumes")
	return true, nil
}

// without takes muster's element out of a list of fields.
func without(fields map[string]any, key string) {
	values := list(fields, key)
	if at := named(values, volumeName); at >= 0 {
		values = slices.Delete(values, at, at+1)
	}
	if fields[key] = values; len(values) == 0 {
		delete(fields, key)
	}
}

// schedulerIn is the container of kube-scheduler's static pod.
func schedulerIn(fields map[string]any) (map[string]any, error) {
	containers := list(fields, "spec", "containers")
	if at := named(containers, "kube-scheduler"); at >= 0 {
		return containers[at].(map[string]any), nil
	}
	return nil, errors.New("no container is called kube-scheduler")
}

// addToCluster changes kubeadm's ClusterConfiguration: kubeadm makes the static pod again from it when it upgrades a cluster.
func (n node) addToCluster(fields map[string]any) (bool, error) {
	scheduler, _ := fields["scheduler"].(map[string]any)
	if scheduler == nil {
		scheduler = map[string]any{}
		fields["scheduler"] = scheduler
	}
	switch there := configOf(scheduler); there {
	case n.schedulerConfig():
		return false, nil
	case "":
	default:
		return false, fmt.Errorf("scheduler.extraArgs: config is %s already", there)
	}
	if args, isMap := scheduler["extraArgs"].(map[string]any); isMap || strings.HasSuffix(fmt.Sprint(fields["apiVersion"]), "/v1beta3") {
		if args == nil {
			args = map[string]any{}
		}
		args["config"] = n.schedulerConfig()
		scheduler["extraArgs"] = args
	} else {
		scheduler["extraArgs"] = append(list(scheduler, "extraArgs"), map[string]any{"name": "config", "value": n.schedulerConfig()})
	}
	scheduler["extraVolumes"] = append(list(scheduler, "extraVolumes"), map[string]any{
		"name": volumeName, "hostPath": n.configs, "mountPath": n.configs, "readOnly": true, "pathType": "Directory",
	})
	return true, nil
}

// takeFromCluster takes back what addToCluster does.
func (n node) takeFromCluster(fields map[string]any) (bool, error) {
	scheduler, _ := fields["scheduler"].(map[string]any)
	if configOf(scheduler) != n.schedulerConfig() {
		return false, nil
	}
	if args, isMap := scheduler["extraArgs"].(map[string]any); isMap {
		delete(args, "config")
	} else {
		args := list(scheduler, "extraArgs")
		at := named(args, "config")
		scheduler["extraArgs"] = slices.Delete(args, at, at+1)
	}
	if of := scheduler["extraArgs"]; fmt.Sprint(of) == "[]" || fmt.Sprint(of) == "map[]" {
		delete(scheduler, "extraArgs")
	}
	without(scheduler, "extraVolumes")
	return true, nil
}

// configOf is the configuration that kubeadm gives kube-scheduler, "" for none.
func configOf(scheduler map[string]any) string {
	if args, isMap := scheduler["extraArgs"].(map[string]any); isMap {
		value, _ := args["config"].(string)
		return value
	}
	args := list(scheduler, "extraArgs")
	if at := named(args, "config"); at >= 0 {
		value, _ := args[at].(map[string]any)["value"].(string)
		return value
	}
	return ""
}
