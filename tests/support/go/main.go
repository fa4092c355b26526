// Other implementations of what evidence/ writes and reads: Go's own (sumdb/note and
// sumdb/tlog) and transparency-dev/merkle.
//
//	interop check < JSON   verify a checkpoint and proofs that Python made
//	interop make           make a checkpoint and proofs, as JSON, for Python to verify
package main

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// Case is a tree, the checkpoint over it, and proofs in it. Bytes are base64 in JSON.
type Case struct {
	VerifierKey string   `json:"verifier_key"`
	Note        []byte   `json:"note"`
	Leaves      [][]byte `json:"leaves"` // what is hashed, not the hashes
	Index       uint64   `json:"index"`
	Inclusion   [][]byte `json:"inclusion"`
	Old         uint64   `json:"old"`
	OldRoot     []byte   `json:"old_root"`
	Consistency [][]byte `json:"consistency"`
}

func main() {
	log.SetFlags(0)
	switch os.Args[1] {
	case "check":
		var given Case
		must(json.NewDecoder(os.Stdin).Decode(&given))
		must(check(given))
		fmt.Println("ok")
	case "make":
		must(json.NewEncoder(os.Stdout).Encode(made()))
	}
}

func check(given Case) error {
	verifier, err := note.NewVerifier(given.VerifierKey)
	if err != nil {
		return err
	}
	opened, err := note.Open(given.Note, note.VerifierList(verifier))
	if err != nil {
		return err
	}
	lines := bytes.Split([]byte(opened.Text), []byte("\n"))
	size := uint64(len(given.Leaves))
	if string(lines[1]) != fmt.Sprint(size) {
		return fmt.Errorf("the checkpoint is of another size")
	}
	root, err := tlog.ParseHash(string(lines[2]))
	if err != nil {
		return err
	}
	ours, err := tlog.TreeHash(int64(size), reader(given.Leaves))
	if err != nil {
		return err
	}
	if ours != root {
		return fmt.Errorf("the checkpoint has another root")
	}
	leaf := rfc6962.DefaultHasher.HashLeaf(given.Leaves[given.Index])
	if err := proof.VerifyInclusion(
		rfc6962.DefaultHasher, given.Index, size, leaf, given.Inclusion, root[:],
	); err != nil {
		return err
	}
	if err := tlog.CheckRecord(
		hashes(given.Inclusion), int64(size), root, int64(given.Index), tlog.Hash(leaf),
	); err != nil {
		return err
	}
	if err := proof.VerifyConsistency(
		rfc6962.DefaultHasher, given.Old, size, given.Consistency, given.OldRoot, root[:],
	); err != nil {
		return err
	}
	return tlog.CheckTree(
		hashes(given.Consistency), int64(size), root, int64(given.Old), tlog.Hash(given.OldRoot),
	)
}

func made() Case {
	signerKey, verifierKey, err := note.GenerateKey(rand.Reader, "interop.example")
	must(err)
	signer, err := note.NewSigner(signerKey)
	must(err)
	var leaves [][]byte
	for number := range 61 {
		leaves = append(leaves, fmt.Appendf(nil, "leaf %d", number))
	}
	const index, old = 17, 43
	size := int64(len(leaves))
	root, err := tlog.TreeHash(size, reader(leaves))
	must(err)
	oldRoot, err := tlog.TreeHash(old, reader(leaves))
	must(err)
	inclusion, err := tlog.ProveRecord(size, index, reader(leaves))
	must(err)
	consistency, err := tlog.ProveTree(size, old, reader(leaves))
	must(err)
	text := fmt.Sprintf("interop.example/log\n%d\n%s\n", size, root)
	signed, err := note.Sign(&note.Note{Text: text}, signer)
	must(err)
	return Case{
		verifierKey, signed, leaves, index, raw(inclusion), old, oldRoot[:], raw(consistency),
	}
}

// reader gives the hashes of a tree as tlog stores them.
func reader(leaves [][]byte) tlog.HashReader {
	var stored []tlog.Hash
	read := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		found := make([]tlog.Hash, len(indexes))
		for place, index := range indexes {
			found[place] = stored[index]
		}
		return found, nil
	})
	for number, leaf := range leaves {
		more, err := tlog.StoredHashes(int64(number), leaf, read)
		must(err)
		stored = append(stored, more...)
	}
	return read
}

func hashes(from [][]byte) []tlog.Hash {
	found := make([]tlog.Hash, len(from))
	for place, each := range from {
		found[place] = tlog.Hash(each)
	}
	return found
}

func raw(from []tlog.Hash) [][]byte {
	found := make([][]byte, len(from))
	for place, each := range from {
		found[place] = each[:]
	}
	return found
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
