// Command release makes what is published of muster, and publishes the image and the charts.
//
//	go run ./cmd/release -snapshot        # of this commit, to try: into dist
//	go run ./cmd/release                  # of the tag at this commit
//	go run ./cmd/release -push dist       # the image and the charts of that directory, to where .ci/owner.yaml says
//
// The programs, and what they are made of, come from goreleaser (.goreleaser.yaml). In dist are then, and nothing else:
// archives for five platforms; for each a list of its modules (CycloneDX); the image for linux/amd64 and linux/arm64 as
// an OCI archive; the charts, whose image is the one that was built, by its digest; the manifest for krew;
// provenance.json, an in-toto statement with SLSA's provenance; and checksums.txt of all of it. Signing is left to who
// publishes: .github/workflows/release.yaml. The notes of the release are in build/notes.md: its section of CHANGELOG.md.
//
// For -push, log in with docker login and helm registry login before.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"

	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/release"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	snapshot := flag.Bool("snapshot", false, "make a release of this commit to try, whatever its tag")
	push := flag.String("push", "", "push the image and the charts of this `directory`, and make nothing")
	flag.Parse()
	var err error
	switch {
	case flag.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", flag.Arg(0))
	case *push != "" && *snapshot:
		err = errors.New("-push and -snapshot: a snapshot is not published")
	case *push != "":
		err = publish(ctx, *push)
	default:
		err = build(ctx, *snapshot)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// build makes a release.
func build(ctx context.Context, snapshot bool) error {
	root, owner, err := ground(ctx)
	if err != nil {
		return err
	}
	versions, err := release.ReadVersions(filepath.Join(root, "charts", "muster"))
	if err != nil {
		return err
	}
	if err := writeNotes(root, versions, snapshot); err != nil {
		return err
	}
	made, err := goreleaser(ctx, root, owner, versions, snapshot)
	if err != nil {
		return err
	}
	if versions, err = made.versions(versions, snapshot); err != nil {
		return err
	}
	dist := filepath.Join(root, "dist")
	if err := os.RemoveAll(dist); err != nil {
		return err
	}
	if err := os.MkdirAll(dist, 0o755); err != nil {
		return err
	}
	if err := made.collect(root, dist); err != nil {
		return err
	}
	image, digest, err := saveImage(ctx, root, dist, owner, made)
	if err != nil {
		return err
	}
	if err := packageCharts(ctx, root, release.Packager{
		Versions: versions, Source: owner.Source, Image: owner.Image, Digest: digest, Out: dist,
	}); err != nil {
		return err
	}
	return attest(dist, owner, made, image, digest)
}

// ground is the repository, and whose it is.
func ground(ctx context.Context) (root string, owner release.Owner, err error) {
	if root, err = binaries.RepositoryDir(ctx); err != nil {
		return "", release.Owner{}, err
	}
	owner, err = release.ReadOwner(filepath.Join(root, ".ci", "owner.yaml"))
	return root, owner, err
}

// writeNotes takes the notes of the release from the changelog; a snapshot's notes are its unreleased changes.
func writeNotes(root string, versions release.Versions, snapshot bool) error {
	version := versions.App
	if snapshot {
		version = release.Unreleased
	}
	changelog, err := os.ReadFile(filepath.Join(root, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	notes, err := release.Notes(string(changelog), version)
	if err != nil {
		return fmt.Errorf("CHANGELOG.md: %w", err)
	}
	build := filepath.Join(root, "build")
	if err := os.MkdirAll(build, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(build, "notes.md"), []byte(notes), 0o644)
}

// saveImage makes the image and its archive, and returns what it is called and its digest.
func saveImage(ctx context.Context, root, dist string, owner release.Owner, made *made) (name, digest string, err error) {
	committed, err := commitTime(ctx, root)
	if err != nil {
		return "", "", err
	}
	image, err := release.Image(release.Build{
		Binaries: made.binaries(root), Version: made.Version, Revision: made.Commit, Source: owner.Source, Time: committed,
	})
	if err != nil {
		return "", "", fmt.Errorf("make the image: %w", err)
	}
	hash, err := image.Digest()
	if err != nil {
		return "", "", err
	}
	name = owner.Image + ":" + made.Version
	if err := release.SaveImage(filepath.Join(dist, imageArchive(made.Version)), name, image); err != nil {
		return "", "", fmt.Errorf("save the image: %w", err)
	}
	return name, hash.String(), nil
}

func imageArchive(version string) string { return "muster_" + version + "_image.tar" }

func packageCharts(ctx context.Context, root string, p release.Packager) (err error) {
	if p.Helm, err = binaries.EnsureExtra(ctx, binaries.Helm, os.Stdout); err != nil {
		return err
	}
	for _, chart := range []string{"muster", "muster-crds"} {
		if _, err := p.Package(ctx, filepath.Join(root, "charts", chart)); err != nil {
			return err
		}
	}
	return nil
}

// attest says where everything comes from, and what it was when it was made.
func attest(dist string, owner release.Owner, made *made, image, digest string) error {
	digests, err := release.Digests(dist)
	if err != nil {
		return err
	}
	digests[image] = digest
	origin := release.Origin{
		Source: owner.Source, Revision: made.Commit, Version: made.Version, Go: runtime.Version(), Builder: os.Getenv("MUSTER_BUILDER"),
	}
	if origin.Builder == "" {
		origin.Builder = "https://muster.dev/release/by-hand"
	}
	if err := release.WriteProvenance(filepath.Join(dist, "provenance.json"), origin, digests); err != nil {
		return err
	}
	if digests, err = release.Digests(dist); err != nil {
		return err
	}
	if err := release.WriteChecksums(filepath.Join(dist, "checksums.txt"), digests); err != nil {
		return err
	}
	fmt.Printf("%s\n%s@%s\n%d files and checksums.txt in %s\n", made.Version, owner.Image, digest, len(digests), dist)
	return nil
}

// publish pushes what was made.
func publish(ctx context.Context, dir string) error {
	_, owner, err := ground(ctx)
	if err != nil {
		return err
	}
	helm, err := binaries.EnsureExtra(ctx, binaries.Helm, os.Stdout)
	if err != nil {
		return err
	}
	image, err := release.PushImage(ctx, dir, owner.Image)
	if err != nil {
		return err
	}
	fmt.Println(image)
	return release.PushCharts(ctx, helm, dir, owner.Charts)
}
