package leadership

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// seatName is the name of a seat that the parts describe, on this boot of this machine, in this network namespace. It is empty
// where the system does not tell.
func seatName(parts ...string) string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	network, err := os.Stat("/proc/self/ns/net")
	if err != nil {
		return ""
	}
	stat, is := network.Sys().(*syscall.Stat_t)
	if !is {
		return ""
	}
	parts = append(parts, string(boot), strconv.FormatUint(stat.Ino, 10))
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:8])
}

// occupy binds a socket to a name in the abstract namespace, where one socket has it at a time, and leaves it open for as long
// as the process lives. Nobody can connect to it.
func occupy(name string) bool {
	socket, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return false
	}
	if syscall.Bind(socket, &syscall.SockaddrUnix{Name: "@muster/" + name}) != nil {
		_ = syscall.Close(socket)
		return false
	}
	return true
}
