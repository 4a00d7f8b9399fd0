package install

import (
	"fmt"
	"io"
	"strings"
)

// Print writes all of the installation as YAML: the objects, and below them, as comments, the files of nodes and what is to change there.
// So 'kubectl apply' takes the objects alone.
func (i *Installation) Print(w io.Writer) error {
	var text strings.Builder
	fmt.Fprintf(&text, "# All that muster is, printed by 'muster install --%s'. --apply applies the objects.\n", i.way)
	for at := range i.objects {
		why := ""
		if !strings.HasPrefix(i.objects[at].text, "#") { // else the chart says it
			why = commented(i.objects[at].why)
		}
		text.WriteString("---\n" + why + i.objects[at].text)
	}
	if i.way != Managed {
		n := nodeOf(i.way)
		text.WriteString("---\n# The files of each control-plane node, which --write-to / writes.\n")
		for _, f := range i.files {
			fmt.Fprintf(&text, "#\n# ==> %s\n# %s\n#\n%s", f.path, f.why, commented(f.text))
		}
		text.WriteString("#\n")
		text.WriteString(commented(i.lastStep()))
		if n.scheduler != "" {
			text.WriteString(commented("\n" + n.change()))
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// lastStep says what is left to do where files were written or printed.
func (i *Installation) lastStep() string {
	n := nodeOf(i.way)
	if n.dropIn != "" {
		return "==> then restart k3s on the node: systemctl restart k3s"
	}
	return "==> " + n.scheduler + "\nkube-scheduler gets --config=" + n.schedulerConfig() + " and the directory of it, which --write-to\n" +
		"does, and --apply in the ConfigMap kube-system/kubeadm-config, from which 'kubeadm upgrade' makes the file again:"
}
