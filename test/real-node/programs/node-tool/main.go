// node-tool is the first process of a node and of its pods, and a stand-in for udevd.
//
//	node-tool init              runs until it is killed, and reaps what its namespace leaves behind
//	node-tool uevent KEY=VALUE… tells everybody who listens to udev in this network namespace
package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

const udevGroup = 2

func main() {
	if len(os.Args) > 2 && os.Args[1] == "uevent" {
		if err := send(udevMessage(os.Args[2:])); err != nil {
			fmt.Fprintln(os.Stderr, "node-tool:", err)
			os.Exit(1)
		}
		return
	}
	reap()
}

func reap() {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGCHLD)
	for received := range signals {
		if received != syscall.SIGCHLD {
			return
		}
		for {
			if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 || err != nil {
				break
			}
		}
	}
}

// udevMessage puts in front of the properties what libudev expects there: its name, a magic number, the offsets, and
// hashes of two properties by which listeners filter.
func udevMessage(properties []string) []byte {
	values := map[string]string{}
	var body []byte
	for _, property := range properties {
		key, value, _ := strings.Cut(property, "=")
		values[key] = value
		body = append(append(body, property...), 0)
	}
	const headerSize = 40
	message := append(make([]byte, 0, headerSize+len(body)), "libudev\x00"...)
	message = binary.BigEndian.AppendUint32(message, 0xfeedcafe)
	for _, number := range []uint32{headerSize, headerSize, uint32(len(body))} {
		message = binary.NativeEndian.AppendUint32(message, number)
	}
	message = binary.BigEndian.AppendUint32(message, murmurHash2(values["SUBSYSTEM"]))
	message = binary.BigEndian.AppendUint32(message, murmurHash2(values["DEVTYPE"]))
	message = append(message, make([]byte, 8)...) // no tags
	return append(message, body...)
}

func send(message []byte) error {
	socket, err := syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_RAW|syscall.SOCK_CLOEXEC, syscall.NETLINK_KOBJECT_UEVENT)
	if err != nil {
		return err
	}
	err = syscall.Sendto(socket, message, 0, &syscall.SockaddrNetlink{Family: syscall.AF_NETLINK, Groups: udevGroup})
	if err == syscall.ECONNREFUSED { // no process listens
		return nil
	}
	return err
}

// murmurHash2 with the seed 0.
func murmurHash2(text string) uint32 {
	const m = 0x5bd1e995
	rest := []byte(text)
	hash := uint32(len(rest))
	for ; len(rest) >= 4; rest = rest[4:] {
		k := binary.LittleEndian.Uint32(rest) * m
		hash = hash*m ^ (k^k>>24)*m
	}
	for i := len(rest) - 1; i >= 0; i-- {
		hash ^= uint32(rest[i]) << (8 * i)
	}
	if len(rest) > 0 {
		hash *= m
	}
	hash = (hash ^ hash>>13) * m
	return hash ^ hash>>15
}
