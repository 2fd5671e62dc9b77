// Writes a package's Node.js SDK, as Pulumi's own Node.js language host would: that host is served by no Go module.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/pulumi/pulumi/pkg/v3/codegen/nodejs"
	"github.com/pulumi/pulumi/pkg/v3/codegen/schema"
)

func main() {
	if err := generate(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// The schema comes on standard input; `address` is that of the engine's server of other packages' schemas.
func generate(directory, address string) error {
	var spec schema.PackageSpec
	if err := json.NewDecoder(os.Stdin).Decode(&spec); err != nil {
		return err
	}
	client, err := schema.NewLoaderClient(address)
	if err != nil {
		return err
	}
	loader := schema.NewCachedLoader(client)
	pkg, diagnostics, err := schema.BindSpec(spec, loader, schema.ValidationOptions{AllowDanglingReferences: true})
	if err != nil {
		return err
	}
	if diagnostics.HasErrors() {
		return diagnostics
	}
	files, err := nodejs.GeneratePackage("pulumi", pkg, nil, nil, true, loader)
	if err != nil {
		return err
	}
	for name, text := range files {
		text = imports(name, text)
		file := filepath.Join(directory, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Before Go 1.26 `filepath.Rel("types", "")` was `../.`, on which the generator counts: it takes what stands before the last
// slash for the way to the root. Built with 1.26 that is one step short in every file that is not in the root.
func imports(name string, text []byte) []byte {
	up := strings.TrimSuffix(strings.Repeat("../", strings.Count(name, "/")), "/")
	short := path.Dir(up)
	if up == "" {
		return text
	}
	return []byte(strings.NewReplacer(
		`from "`+short+`/utilities"`, `from "`+up+`/utilities"`,
		`from "`+short+`/types/`, `from "`+up+`/types/`,
	).Replace(string(text)))
}
